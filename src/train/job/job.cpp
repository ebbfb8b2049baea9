#include "train/job/job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <set>

#include "base/core/crypto.h"
#include "base/core/files.h"
#include "base/core/text.h"
#include "train/recipe/files.h"

namespace kw::training {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> unreadable(const std::string& path, int error) {
  return fail(fmt::format("cannot read {}: {}", path, errno_text(error)), "give files of rows to --data");
}

// Maps the file, so that many gigabytes are not copied into memory.
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
  // O_NONBLOCK: otherwise open() blocks on a pipe without a writer.
  Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return unreadable(given, errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return unreadable(given, errno);
  if (S_ISDIR(info.st_mode))
    return fail(fmt::format("cannot train on {}: it is a folder", given), "name the files in it");
  if (!S_ISREG(info.st_mode))
    return fail(fmt::format("cannot train on {}: not a regular file", given), "write the rows to a file");
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
  std::map<std::string, std::string> by_hash;  // finds equal contents under different names
  for (const std::string& path : paths) {
    auto file = look_at(path);
    if (!file) return std::unexpected(file.error());
    if (!seen.insert(file->path).second)
      return fail(fmt::format("--data names {} twice", path),
                  "name it once: training would use its rows twice");
    if (auto [other, is_new] = by_hash.try_emplace(file->sha256, path); !is_new)
      return fail(fmt::format("--data names two files with equal contents: {} and {}", other->second, path),
                  "leave one of them out: training would use the rows twice");
    files.push_back(std::move(*file));
  }
  return files;
}

namespace {

namespace json = boost::json;

template <typename T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value();
}

}  // namespace

json::object to_json(const Job& job) {
  json::array paths;
  json::array files;
  for (const DataFile& file : job.data) {
    paths.emplace_back(file.path);
    files.push_back({{"path", file.path}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  return {{"schema", "kernelwright.train-job/1"},
          {"model", job.model},
          {"data", std::move(paths)},
          {"files", std::move(files)},
          {"output", job.output},
          {"engine", job.engine},
          {"device", job.device},
          {"memory_bytes", or_null(job.memory_bytes)},
          {"max_steps", or_null(job.max_steps)},
          {"resume", job.resume},
          {"dry_run", job.dry_run},
          {"force", job.force},
          {"push_to_hub", or_null(job.push_to_hub)},
          {"program", job.program},
          {"recipe", recipe::to_json(job.recipe)}};
}

}  // namespace kw::training
