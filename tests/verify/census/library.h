// Fat binaries, and shared libraries with them, made for a test.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "image.h"

namespace kw::census {

using recording::Image;

enum class Packing { none, lz4, zstd };

struct EntryParts {
  Image cubin = {};
  unsigned architecture = 90;
  Packing packing = Packing::none;
  unsigned kind = 2;  // 2: a cubin, 1: PTX
};

Image fatbin_of(const std::vector<EntryParts>& entries);

// The offsets of fields in a fat binary.
inline constexpr std::size_t fatbin_bytes_at = 8, first_entry_at = 16, entry_header_at = first_entry_at + 4,
                             entry_bytes_at = first_entry_at + 8, packed_bytes_at = first_entry_at + 16,
                             plain_bytes_at = first_entry_at + 56, payload_at = first_entry_at + 64;

template <typename T>
void put(Image& image, std::size_t at, T value) {
  std::memcpy(image.data() + at, &value, sizeof value);
}

// An ELF file with these bytes in a section of this name.
Image library_of(const Image& fatbin, const std::string& section = ".nv_fatbin");

void write(const std::filesystem::path& path, const Image& bytes);

// A kernel of its own code: a test's cubins hold the same bytes for all kernels.
Image cubin_with(const std::string& kernel, std::uint8_t code);
inline const Image one = cubin_with("one", 1), two = cubin_with("two", 2);
std::uint64_t key_of(const Image& cubin, const std::string& kernel);

}  // namespace kw::census
