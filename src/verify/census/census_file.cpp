#include "verify/census/census_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/core/crypto.h"
#include "base/core/files.h"

namespace kw::census {
namespace {

namespace fs = std::filesystem;

// The file: the mark, the installation, the keys in this machine's byte order, and the hash of all of these.
constexpr std::string_view mark = "KWCENSUS";
constexpr std::size_t hash_bytes = 64;  // in hexadecimal, of the installation too
constexpr std::size_t key_bytes = sizeof(std::uint64_t);
constexpr std::size_t longest_file = std::size_t{1} << 26;

fs::path cache_folder() {
  const fs::path ours = "kernelwright";
  // The XDG specification requires that a relative path is ignored.
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && folder[0] == '/')
    return fs::path(folder) / ours;
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return fs::path(home) / ".cache" / ours;
  return {};
}

}  // namespace

std::string to_bytes(const Census& census, std::string_view installation) {
  std::string bytes = fmt::format("{}{}", mark, installation);
  bytes.append(reinterpret_cast<const char*>(census.keys().data()), census.keys().size() * key_bytes);
  return bytes + sha256_hex(bytes);
}

Result<Census> from_bytes(std::string_view bytes, std::string_view installation) {
  constexpr std::size_t before = mark.size() + hash_bytes;
  if (bytes.size() <= before + hash_bytes || !bytes.starts_with(mark)) return fail("the bytes are no census");
  const std::string_view hashed = bytes.substr(0, bytes.size() - hash_bytes);
  const std::string_view packed = hashed.substr(before);
  if (packed.size() % key_bytes != 0 || bytes.substr(hashed.size()) != sha256_hex(hashed))
    return fail("the census is damaged");
  if (!installation.empty() && hashed.substr(mark.size(), hash_bytes) != installation)
    return fail("the census is of another installation");
  std::vector<std::uint64_t> keys(packed.size() / key_bytes);
  std::memcpy(keys.data(), packed.data(), packed.size());
  return Census(std::move(keys));
}

fs::path cache_file(const std::vector<std::string>& folders, unsigned capability) {
  const fs::path folder = cache_folder();
  if (folder.empty()) return {};
  std::string all;
  for (const std::string& each : folders) all += each + "\n";
  constexpr std::size_t digits = 16;
  return folder / fmt::format("census-sm_{}-{}.bin", capability, sha256_hex(all).substr(0, digits));
}

Result<std::string> kept_or_made(const std::vector<std::string>& folders, unsigned capability,
                                 const fs::path& file) {
  const auto libraries = libraries_in(folders);
  const std::string installation = installation_of(libraries, capability);
  if (auto kept = read_file(file, longest_file); kept && from_bytes(*kept, installation)) return *kept;
  auto made = take_census(libraries, capability);
  if (!made) return std::unexpected(made.error());
  std::string bytes = to_bytes(*made, installation);
  if (file.empty()) return bytes;
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  [[maybe_unused]] const auto written = write_file(file, bytes);  // without it the census is made again
  return bytes;
}

}  // namespace kw::census
