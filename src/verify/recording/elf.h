// An untrusted cubin: an ELF image. Every read is bounds-checked first.
#pragma once

#include <elf.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace kw::recording {

// A string table of an image. Strings end inside it.
class Strings {
 public:
  Strings() = default;
  explicit Strings(std::string_view bytes);

  bool has(std::uint64_t offset) const { return offset < end_; }
  // Requires has(offset): whether the string there begins with this prefix, and the complete string.
  bool begins(std::uint64_t offset, std::string_view with) const;
  std::string_view at(std::uint64_t offset) const {
    return bytes_.substr(offset, bytes_.find('\0', offset) - offset);
  }

 private:
  std::string_view bytes_;
  std::size_t end_ = 0;  // after the last NUL
};

class Elf {
 public:
  struct Object {
    std::string_view name;
    std::uint64_t bytes = 0;
  };
  struct Kernel {
    std::string_view name;
    std::span<const std::uint8_t>
        code;  // of its section, as the assembler wrote it; none: its symbol is elsewhere
    std::size_t section = 0;
  };

  // A 64-bit little-endian image for an NVIDIA device whose tables, sections, segments and names are inside
  // it. It must outlive the result. Work and memory are linear in its size.
  static Result<Elf> of(std::span<const std::uint8_t> image);

  // Functions that can be launched: NAME of every section .text.NAME. Sorted by name.
  const std::vector<Kernel>& kernels() const { return kernels_; }
  // Named objects in writable global or constant memory. Sorted by name.
  const std::vector<Object>& objects() const { return objects_; }

  bool has_kernel(std::string_view name) const;
  // Empty if there is no such kernel.
  std::span<const std::uint8_t> code_of(std::string_view kernel) const;
  // Whether an object of that name and size exists.
  bool has_object(std::string_view name, std::uint64_t bytes) const;

 private:
  explicit Elf(std::span<const std::uint8_t> image) : image_(image) {}
  Result<> read_header();
  Result<> read_sections();
  Result<> read_segments();
  Result<> read_kernels();
  Result<> read_objects();
  Result<> read_symbols(const Elf64_Shdr& table);
  Result<> keep_object(const Elf64_Sym& symbol, const Strings& names);
  Result<> check_function(const Elf64_Sym& symbol, const Strings& names);
  Result<Strings> strings(std::uint64_t index) const;
  bool holds(std::uint64_t offset, std::uint64_t bytes) const;
  Result<std::string_view> name(const Strings& strings, std::uint64_t offset);
  template <typename T>
  T read(std::uint64_t offset) const;

  std::span<const std::uint8_t> image_;
  Elf64_Ehdr header_ = {};
  std::vector<Elf64_Shdr> sections_;
  Strings section_names_;
  std::vector<Kernel> kernels_;
  std::vector<Object> objects_;
  std::uint64_t name_bytes_ = 0;  // of all names kept: overlapping strings could exceed the image
};

// The key of a kernel's code: the first 8 bytes of the SHA-256 of its section, which holds no name. 0: no
// code.
std::uint64_t code_key(std::span<const std::uint8_t> code);

}  // namespace kw::recording
