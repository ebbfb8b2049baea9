#include "library.h"

#include <lz4.h>
#include <zstd.h>

#include <fstream>

#include "verify/recording/elf.h"

namespace kw::census {
namespace {

constexpr std::uint64_t flag_of[] = {0x11, 0x2011, 0x8011};

Image packed(const Image& plain, Packing packing) {
  if (packing == Packing::none) return plain;
  if (packing == Packing::zstd) {
    Image bytes(ZSTD_compressBound(plain.size()));
    bytes.resize(ZSTD_compress(bytes.data(), bytes.size(), plain.data(), plain.size(), 3));
    return bytes;
  }
  const int size = static_cast<int>(plain.size());
  Image bytes(static_cast<std::size_t>(LZ4_compressBound(size)));
  const int made =
      LZ4_compress_default(reinterpret_cast<const char*>(plain.data()), reinterpret_cast<char*>(bytes.data()),
                           size, static_cast<int>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(made));
  return bytes;
}

Image entry_of(const EntryParts& parts) {
  const Image payload = packed(parts.cubin, parts.packing);
  const std::size_t padded = (payload.size() + 7) / 8 * 8;
  Image bytes(64 + padded);
  put<std::uint16_t>(bytes, 0, static_cast<std::uint16_t>(parts.kind));
  put<std::uint16_t>(bytes, 2, 0x101);
  put<std::uint32_t>(bytes, 4, 64);
  put<std::uint64_t>(bytes, 8, padded);
  put<std::uint32_t>(bytes, 28, parts.architecture);
  put<std::uint64_t>(bytes, 40, flag_of[static_cast<int>(parts.packing)]);
  if (parts.packing != Packing::none) {
    put<std::uint32_t>(bytes, 16, static_cast<std::uint32_t>(payload.size()));
    put<std::uint64_t>(bytes, 56, parts.cubin.size());
  }
  std::memcpy(bytes.data() + 64, payload.data(), payload.size());
  return bytes;
}

}  // namespace

Image fatbin_of(const std::vector<EntryParts>& entries) {
  Image bytes(first_entry_at);
  for (const EntryParts& each : entries) {
    const Image entry = entry_of(each);
    bytes.insert(bytes.end(), entry.begin(), entry.end());
  }
  put<std::uint32_t>(bytes, 0, 0xBA55ED50);
  put<std::uint16_t>(bytes, 4, 1);
  put<std::uint16_t>(bytes, 6, first_entry_at);
  put<std::uint64_t>(bytes, fatbin_bytes_at, bytes.size() - first_entry_at);
  return bytes;
}

Image library_of(const Image& fatbin, const std::string& section) {
  const std::string names = std::string("\0.shstrtab\0", 11) + section + '\0';
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_X86_64;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 1;
  Image bytes(sizeof header);
  const std::size_t code = bytes.size();
  bytes.insert(bytes.end(), fatbin.begin(), fatbin.end());
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1;
  sections[1].sh_offset = bytes.size();
  sections[1].sh_size = names.size();
  sections[2].sh_name = 11;
  sections[2].sh_offset = code;
  sections[2].sh_size = fatbin.size();
  bytes.insert(bytes.end(), names.begin(), names.end());
  header.e_shoff = bytes.size();
  const auto* table = reinterpret_cast<const std::uint8_t*>(sections);
  bytes.insert(bytes.end(), table, table + sizeof sections);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

void write(const std::filesystem::path& path, const Image& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Image cubin_with(const std::string& kernel, std::uint8_t code) {
  Image image = recording::image_of({.kernels = {kernel}});
  recording::edit<Elf64_Shdr>(
      image, recording::section_at(image, recording::first_kernel), [&](auto& section) {
        std::fill_n(image.begin() + static_cast<std::ptrdiff_t>(section.sh_offset), section.sh_size, code);
      });
  image.resize((image.size() + 7) / 8 * 8);  // as the padding of an entry leaves it
  return image;
}

std::uint64_t key_of(const Image& cubin, const std::string& kernel) {
  return recording::code_key(recording::Elf::of(cubin)->code_of(kernel));
}

}  // namespace kw::census
