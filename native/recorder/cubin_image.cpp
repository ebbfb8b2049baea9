#include "cubin_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace kw::recorder {
namespace {

constexpr std::uint64_t longest_image = std::uint64_t{1} << 30;

bool is_elf(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64;
}

template <typename Part>
Part read(const std::uint8_t* from) {
  Part part;
  std::memcpy(&part, from, sizeof part);
  return part;
}

// The sections' headers; none where they do not lie within the image.
std::vector<Elf64_Shdr> sections(std::span<const std::uint8_t> image) {
  if (image.size() < sizeof(Elf64_Ehdr)) return {};
  auto header = read<Elf64_Ehdr>(image.data());
  if (!is_elf(header) || header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > image.size() ||
      (image.size() - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum)
    return {};
  std::vector<Elf64_Shdr> all;
  for (std::size_t i = 0; i < header.e_shnum; ++i)
    all.push_back(read<Elf64_Shdr>(image.data() + header.e_shoff + i * sizeof(Elf64_Shdr)));
  return all;
}

}  // namespace

std::vector<std::string> kernel_names(std::span<const std::uint8_t> image) {
  std::vector<Elf64_Shdr> all = sections(image);
  if (all.empty()) return {};
  auto header = read<Elf64_Ehdr>(image.data());
  if (header.e_shstrndx >= all.size()) return {};
  const Elf64_Shdr& names = all[header.e_shstrndx];
  if (names.sh_offset > image.size() || names.sh_size > image.size() - names.sh_offset) return {};
  std::string_view text(reinterpret_cast<const char*>(image.data() + names.sh_offset), names.sh_size);
  constexpr std::string_view prefix = ".text.";
  std::vector<std::string> found;
  for (const Elf64_Shdr& section : all) {
    if (section.sh_name >= text.size()) continue;
    std::string_view name = text.substr(section.sh_name);
    name = name.substr(0, name.find('\0'));
    if (name.starts_with(prefix)) found.emplace_back(name.substr(prefix.size()));
  }
  return found;
}

std::size_t image_bytes(const void* image) {
  if (image == nullptr || std::memcmp(image, ELFMAG, SELFMAG) != 0) return 0;
  const auto* start = static_cast<const std::uint8_t*>(image);
  auto header = read<Elf64_Ehdr>(start);
  if (!is_elf(header) || header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > longest_image) return 0;
  std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  end = std::max(end, header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    auto section = read<Elf64_Shdr>(start + header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end > longest_image ? 0 : end;
}

}  // namespace kw::recorder
