// A cubin made for a test: an ELF file with the tables that a reader uses, and a few bytes for each kernel.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace kw::recording {

using Image = std::vector<std::uint8_t>;

struct ImageParts {
  std::vector<std::string> kernels = {"add"};
  std::vector<std::pair<std::string, std::uint64_t>> globals = {};  // names and sizes
};

// Sections: 0 none, 1 .shstrtab, 2 .strtab, 3 .symtab, 4 .nv.global, 5 .nv.constant3, then the kernels'.
Image image_of(const ImageParts& parts);

enum Sections : std::size_t { section_names = 1, symbol_names, symbols, globals, constants, first_kernel };

// The offset of a structure of the image.
std::size_t section_at(const Image& image, std::size_t index);
std::size_t symbol_at(const Image& image, std::size_t index);
std::size_t segment_at(const Image& image);

// Changes a structure of the image: edit<Elf64_Ehdr>(image, 0, [](auto& header) { header.e_machine = 62; }).
template <typename T, typename Change>
void edit(Image& image, std::size_t at, Change change) {
  T value;
  std::memcpy(&value, image.data() + at, sizeof value);
  change(value);
  std::memcpy(image.data() + at, &value, sizeof value);
}

}  // namespace kw::recording
