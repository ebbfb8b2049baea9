#include "verify/recording/elf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/core/crypto.h"
#include "verify/recording/check.h"

namespace kw::recording {
namespace {

constexpr std::string_view text_prefix = ".text.";

// NVIDIA's section types that have a size but no bytes, like SHT_NOBITS: global, local and shared memory.
constexpr std::uint32_t cuda_global = 0x70000007, cuda_local = 0x70000009, cuda_shared = 0x7000000A;

bool has_bytes(const Elf64_Shdr& section) {
  return section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS && section.sh_type != cuda_global &&
         section.sh_type != cuda_local && section.sh_type != cuda_shared;
}

}  // namespace

Strings::Strings(std::string_view bytes) : bytes_(bytes) {
  std::size_t last = bytes.rfind('\0');
  end_ = last == std::string_view::npos ? 0 : last + 1;
}

bool Strings::begins(std::uint64_t offset, std::string_view with) const {
  return bytes_.substr(offset, with.size()) == with;
}

bool Elf::holds(std::uint64_t offset, std::uint64_t bytes) const {
  return lies_in(Span(0, image_.size()), offset, bytes);
}

// Requires holds(offset, sizeof(T)). The image is aligned for bytes only.
template <typename T>
T Elf::read(std::uint64_t offset) const {
  T value;
  std::memcpy(&value, image_.data() + offset, sizeof value);
  return value;
}

Result<Elf> Elf::of(std::span<const std::uint8_t> image) {
  Elf elf(image);
  using Step = Result<> (Elf::*)();
  for (Step step :
       {&Elf::read_header, &Elf::read_sections, &Elf::read_segments, &Elf::read_kernels, &Elf::read_objects})
    if (auto good = (elf.*step)(); !good) return std::unexpected(good.error());
  elf.sections_ = {};  // can be as large as the image, and is not needed any more
  return elf;
}

Result<> Elf::read_header() {
  if (!holds(0, sizeof header_)) return fail("the image is too short for an ELF file");
  header_ = read<Elf64_Ehdr>(0);
  if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return fail("the image is not an ELF file");
  if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB)
    return fail("the image is not a 64-bit little-endian ELF file");
  if (header_.e_machine != EM_CUDA) return fail("the image is for another machine than a CUDA device");
  return {};
}

Result<> Elf::read_sections() {
  if (header_.e_shentsize != sizeof(Elf64_Shdr)) return fail("its section headers have another size");
  if (!holds(header_.e_shoff, sizeof(Elf64_Shdr))) return fail("its section headers lie beyond the image");
  auto first = read<Elf64_Shdr>(header_.e_shoff);
  // A count that does not fit the header is in the first section's header.
  std::uint64_t count = header_.e_shnum != 0 ? header_.e_shnum : first.sh_size;
  if (count > image_.size() / sizeof(Elf64_Shdr) || !holds(header_.e_shoff, count * sizeof(Elf64_Shdr)))
    return fail("its section headers lie beyond the image");
  sections_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto section = read<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr));
    if (has_bytes(section) && !holds(section.sh_offset, section.sh_size))
      return fail(fmt::format("its section {} lies beyond the image", i));
    sections_.push_back(section);
  }
  auto names = strings(header_.e_shstrndx == SHN_XINDEX ? first.sh_link : header_.e_shstrndx);
  if (!names) return std::unexpected(names.error());
  section_names_ = *names;
  return {};
}

Result<> Elf::read_segments() {
  if (header_.e_phnum == 0) return {};
  if (header_.e_phentsize != sizeof(Elf64_Phdr)) return fail("its program headers have another size");
  std::uint64_t bytes = header_.e_phnum * sizeof(Elf64_Phdr);
  if (!holds(header_.e_phoff, bytes)) return fail("its program headers lie beyond the image");
  for (std::uint64_t at = header_.e_phoff; at < header_.e_phoff + bytes; at += sizeof(Elf64_Phdr)) {
    auto segment = read<Elf64_Phdr>(at);
    if (!holds(segment.p_offset, segment.p_filesz)) return fail("a segment of it lies beyond the image");
  }
  return {};
}

Result<Strings> Elf::strings(std::uint64_t index) const {
  if (index >= sections_.size() || sections_[index].sh_type != SHT_STRTAB)
    return fail("it lacks a table of strings");
  const Elf64_Shdr& section = sections_[index];
  const char* begin = reinterpret_cast<const char*>(image_.data()) + section.sh_offset;
  return Strings({begin, section.sh_size});
}

Result<std::string_view> Elf::name(const Strings& strings, std::uint64_t offset) {
  std::string_view found = strings.at(offset);
  name_bytes_ += found.size();
  // In an image that a compiler wrote, each name has its own bytes.
  if (name_bytes_ > image_.size()) return fail("its names are longer together than it is itself");
  return found;
}

Result<> Elf::read_kernels() {
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    std::uint64_t offset = sections_[i].sh_name;
    if (!section_names_.has(offset)) return fail(fmt::format("the name of its section {} has no end", i));
    if (!section_names_.begins(offset, text_prefix)) continue;
    auto found = name(section_names_, offset);
    if (!found) return std::unexpected(found.error());
    const Elf64_Shdr& section = sections_[i];
    const auto code = has_bytes(section) ? image_.subspan(section.sh_offset, section.sh_size)
                                         : std::span<const std::uint8_t>();
    kernels_.push_back({found->substr(text_prefix.size()), code, i});
  }
  // Code that is linked later may have two sections of one name.
  std::ranges::sort(kernels_, {},
                    [](const Kernel& kernel) { return std::pair(kernel.name, kernel.code.data()); });
  return {};
}

Result<> Elf::read_objects() {
  auto is_table = [](const Elf64_Shdr& section) { return section.sh_type == SHT_SYMTAB; };
  auto table = std::find_if(sections_.begin(), sections_.end(), is_table);
  if (table == sections_.end()) return {};
  if (std::find_if(table + 1, sections_.end(), is_table) != sections_.end())
    return fail("it has more than one table of symbols");
  return read_symbols(*table);
}

Result<> Elf::read_symbols(const Elf64_Shdr& table) {
  if (table.sh_entsize != sizeof(Elf64_Sym) || table.sh_size % sizeof(Elf64_Sym) != 0)
    return fail("its symbols have another size");
  auto names = strings(table.sh_link);
  if (!names) return std::unexpected(names.error());
  for (std::uint64_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym)) {
    auto symbol = read<Elf64_Sym>(table.sh_offset + at);
    if (!names->has(symbol.st_name)) return fail("the name of a symbol has no end");
    if (auto good = keep_object(symbol, *names); !good) return good;
    if (auto good = check_function(symbol, *names); !good) return good;
  }
  auto before = [](const Object& a, const Object& b) { return a.name < b.name; };
  std::sort(objects_.begin(), objects_.end(), before);
  return {};
}

// Variables that carry data from launch to launch: global memory, and constants that the host sets.
Result<> Elf::keep_object(const Elf64_Sym& symbol, const Strings& names) {
  if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0) return {};
  if (symbol.st_shndx >= sections_.size()) return {};
  std::uint64_t section = sections_[symbol.st_shndx].sh_name;
  if (!section_names_.begins(section, ".nv.global") &&
      !section_names_.begins(section, std::string_view(".nv.constant3", sizeof ".nv.constant3")))
    return {};
  auto found = name(names, symbol.st_name);
  if (!found) return std::unexpected(found.error());
  objects_.push_back({*found, symbol.st_size});
  return {};
}

// A driver finds a kernel by its symbol. Where that lies elsewhere than in the section of the kernel's name,
// the section's code is not what runs.
Result<> Elf::check_function(const Elf64_Sym& symbol, const Strings& names) {
  if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) return {};
  auto found = name(names, symbol.st_name);
  if (!found) return std::unexpected(found.error());
  auto kernel = std::ranges::lower_bound(kernels_, *found, {}, &Kernel::name);
  if (kernel == kernels_.end() || kernel->name != *found) return {};
  if (symbol.st_shndx != kernel->section || symbol.st_value != 0) kernel->code = {};
  return {};
}

bool Elf::has_kernel(std::string_view name) const {
  return std::ranges::binary_search(kernels_, name, {}, &Kernel::name);
}

std::span<const std::uint8_t> Elf::code_of(std::string_view kernel) const {
  auto found = std::ranges::lower_bound(kernels_, kernel, {}, &Kernel::name);
  if (found == kernels_.end() || found->name != kernel) return {};
  // Which of several sections a driver takes is not known.
  if (const auto next = std::next(found); next != kernels_.end() && next->name == kernel) return {};
  return found->code;
}

bool Elf::has_object(std::string_view name, std::uint64_t bytes) const {
  auto before = [](const Object& object, std::string_view other) { return object.name < other; };
  auto found = std::lower_bound(objects_.begin(), objects_.end(), name, before);
  for (; found != objects_.end() && found->name == name; ++found)
    if (found->bytes == bytes) return true;
  return false;
}

std::uint64_t code_key(std::span<const std::uint8_t> code) {
  if (code.empty()) return 0;
  const std::string hash = sha256_bytes({reinterpret_cast<const char*>(code.data()), code.size()});
  std::uint64_t key = 0;
  std::memcpy(&key, hash.data(), sizeof key);
  return key;
}

}  // namespace kw::recording
