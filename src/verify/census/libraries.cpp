#include "verify/census/libraries.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/core/crypto.h"
#include "base/core/files.h"

namespace kw::census {
namespace {

namespace fs = std::filesystem;

constexpr unsigned census_version = 1;  // of the search and of the keys: another one makes every census anew

// nvcc's section for fat binaries.
constexpr std::string_view fatbin_section = ".nv_fatbin";

bool is_named_as_a_library(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".so") || name.contains(".so.");
}

template <typename Part>
bool read_part(const Fd& file, std::uint64_t at, std::vector<Part>& into) {
  const std::size_t bytes = into.size() * sizeof(Part);
  return read_at(file.get(), at, {reinterpret_cast<char*>(into.data()), bytes}) == bytes;
}

// The names of an ELF file's sections, as one text; empty for any other file.
std::string section_names(const fs::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::vector<Elf64_Ehdr> header(1);
  if (!file || !read_part(file, 0, header)) return {};
  const Elf64_Ehdr& elf = header.front();
  if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
      elf.e_shentsize != sizeof(Elf64_Shdr) || elf.e_shstrndx >= elf.e_shnum)
    return {};
  std::vector<Elf64_Shdr> names(1);
  if (!read_part(file, elf.e_shoff + elf.e_shstrndx * sizeof(Elf64_Shdr), names)) return {};
  constexpr std::uint64_t longest = 1 << 20;
  if (names.front().sh_size > longest) return {};
  std::vector<char> text(names.front().sh_size);
  if (!read_part(file, names.front().sh_offset, text)) return {};
  return {text.begin(), text.end()};
}

// Its file as the key has it; empty if it holds no kernels.
std::optional<Library> library_at(const fs::path& path) {
  std::error_code error;
  Library library{.path = fs::canonical(path, error)};
  if (error || !fs::is_regular_file(library.path, error)) return std::nullopt;
  if (!section_names(library.path).contains(fatbin_section)) return std::nullopt;
  library.bytes = fs::file_size(library.path, error);
  if (error) return std::nullopt;
  const auto changed = fs::last_write_time(library.path, error).time_since_epoch();
  library.changed_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(changed).count();
  return error ? std::nullopt : std::optional(std::move(library));
}

}  // namespace

std::vector<Library> libraries_in(const std::vector<std::string>& folders) {
  std::vector<Library> found;
  constexpr auto options = fs::directory_options::skip_permission_denied;
  std::error_code error;
  for (const std::string& folder : folders)
    for (fs::recursive_directory_iterator at(folder, options, error), end; !error && at != end;
         at.increment(error))
      if (is_named_as_a_library(at->path()))
        if (auto library = library_at(at->path())) found.push_back(std::move(*library));
  std::ranges::sort(found, {}, &Library::path);
  const auto same = std::ranges::unique(found, {}, &Library::path);
  found.erase(same.begin(), same.end());
  return found;
}

std::string installation_of(const std::vector<Library>& libraries, unsigned capability) {
  std::string text = fmt::format("census {} sm_{}", census_version, capability);
  for (const Library& each : libraries)
    text += fmt::format("\n{}\n{} {}", each.path.string(), each.bytes, each.changed_ns);
  return sha256_hex(text);
}

}  // namespace kw::census
