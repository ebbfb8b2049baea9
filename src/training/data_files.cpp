#include "training/data_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"

namespace kw::training {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> unreadable(const std::string& path, int error) {
  return fail(fmt::format("cannot read {}: {}", path, errno_text(error)), "--data takes files of rows");
}

// Mapped, so that a file of many gigabytes costs no memory.
Result<std::string> hash_of(const Fd& fd, const DataFile& file) {
  void* bytes = ::mmap(nullptr, file.bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (bytes == MAP_FAILED) return unreadable(file.path, errno);
  ::madvise(bytes, file.bytes, MADV_SEQUENTIAL);
  std::string hash = sha256_hex({static_cast<const char*>(bytes), file.bytes});
  ::munmap(bytes, file.bytes);
  return hash;
}

Result<DataFile> look_at(const std::string& given) {
  std::error_code error;
  DataFile file{fs::absolute(given, error).lexically_normal().string(), 0, {}};
  // A pipe without a writer would never be opened otherwise.
  Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return unreadable(given, errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return unreadable(given, errno);
  if (S_ISDIR(info.st_mode))
    return fail(fmt::format("cannot train on {}: it is a folder", given), "name the files in it");
  if (!S_ISREG(info.st_mode))
    return fail(fmt::format("cannot train on {}: it is no plain file", given), "write the rows to a file");
  if (info.st_size == 0)
    return fail(fmt::format("cannot train on {}: it is empty", given),
                "`kernelwright export` and `dataset build` make files of rows");
  file.bytes = static_cast<std::uint64_t>(info.st_size);
  auto hash = hash_of(fd, file);
  if (!hash) return std::unexpected(hash.error());
  file.sha256 = std::move(*hash);
  return file;
}

}  // namespace

Result<std::vector<DataFile>> look_at_files(const std::vector<std::string>& paths) {
  std::vector<DataFile> files;
  std::set<std::string> seen;
  std::map<std::string, std::string> by_hash;  // so that another name hides nothing
  for (const std::string& path : paths) {
    auto file = look_at(path);
    if (!file) return std::unexpected(file.error());
    if (!seen.insert(file->path).second)
      return fail(fmt::format("--data names {} twice", path), "its rows would be learnt twice: name it once");
    if (auto [other, is_new] = by_hash.try_emplace(file->sha256, path); !is_new)
      return fail(fmt::format("--data names the same bytes twice: {} and {}", other->second, path),
                  "the rows would be learnt twice: leave one of them out");
    files.push_back(std::move(*file));
  }
  return files;
}

}  // namespace kw::training
