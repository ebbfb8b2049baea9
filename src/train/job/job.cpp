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

// A file as its user named it, with the flag.
struct Given {
  std::string_view flag;
  std::string_view path;
};

std::unexpected<Error> unreadable(const Given& given, int error) {
  return fail(fmt::format("cannot read {}: {}", given.path, errno_text(error)),
              fmt::format("give files of rows to {}", given.flag));
}

// Maps the file, so that many gigabytes are not copied into memory.
Result<std::string> hash_of(const Fd& fd, const DataFile& file, const Given& given) {
  void* bytes = ::mmap(nullptr, file.bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (bytes == MAP_FAILED) return unreadable(given, errno);
  ::madvise(bytes, file.bytes, MADV_SEQUENTIAL);
  std::string hash = sha256_hex({static_cast<const char*>(bytes), file.bytes});
  ::munmap(bytes, file.bytes);
  return hash;
}

Result<DataFile> look_at(const Given& given) {
  std::error_code error;
  DataFile file{fs::absolute(given.path, error).lexically_normal().string(), 0, {}};
  // O_NONBLOCK: otherwise open() blocks on a pipe without a writer.
  Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return unreadable(given, errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return unreadable(given, errno);
  if (S_ISDIR(info.st_mode))
    return fail(fmt::format("cannot use {} {}: it is a folder", given.flag, given.path),
                "name the files in it");
  if (!S_ISREG(info.st_mode))
    return fail(fmt::format("cannot use {} {}: not a regular file", given.flag, given.path),
                "write the rows to a file");
  if (info.st_size == 0)
    return fail(fmt::format("cannot use {} {}: it is empty", given.flag, given.path),
                "`kernelwright export` and `dataset build` make files of rows");
  file.bytes = static_cast<std::uint64_t>(info.st_size);
  auto hash = hash_of(fd, file, given);
  if (!hash) return std::unexpected(hash.error());
  file.sha256 = std::move(*hash);
  return file;
}

}  // namespace

Result<std::vector<DataFile>> look_at_files(const std::vector<std::string>& paths, const std::string& flag) {
  std::vector<DataFile> files;
  std::set<std::string> seen;
  std::map<std::string, std::string> by_hash;  // finds equal contents under different names
  for (const std::string& path : paths) {
    auto file = look_at({flag, path});
    if (!file) return std::unexpected(file.error());
    if (!seen.insert(file->path).second)
      return fail(fmt::format("{} names {} twice", flag, path), "name it once: its rows would count twice");
    if (auto [other, is_new] = by_hash.try_emplace(file->sha256, path); !is_new)
      return fail(fmt::format("{} names two files with equal contents: {} and {}", flag, other->second, path),
                  "leave one of them out: the rows would count twice");
    files.push_back(std::move(*file));
  }
  return files;
}

namespace {

// The validation files beside one file of training rows.
std::set<std::string> validation_beside(const fs::path& file) {
  constexpr std::string_view csv = "_sft.csv";
  std::string name = file.filename().string();
  std::set<std::string> found;
  std::error_code error;
  if (name.ends_with(csv)) {
    name.replace(name.size() - csv.size(), csv.size(), "_sft_validation.csv");
    if (fs::exists(file.parent_path() / name, error)) found.insert((file.parent_path() / name).string());
  } else if (name.starts_with("train-") && name.ends_with(".parquet")) {
    fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
      if (std::string other = entry.path().filename().string();
          other.starts_with("validation-") && other.ends_with(".parquet"))
        found.insert(entry.path().string());
  }
  return found;
}

}  // namespace

Result<std::vector<std::string>> split_of(const std::vector<std::string>& data) {
  std::set<std::string> found;
  for (const std::string& path : data) found.merge(validation_beside(path));
  if (!found.empty()) return std::vector<std::string>(found.begin(), found.end());
  return fail("--validation split: there is no validation file beside --data",
              "`dataset build` writes X_sft_validation.csv beside X_sft.csv where it has validation rows; "
              "else name a "
              "file of rows");
}

Result<> check_held_out(const std::vector<DataFile>& data, const std::vector<DataFile>& validation) {
  for (const DataFile& held_out : validation)
    for (const DataFile& file : data)
      if (file.sha256 == held_out.sha256)
        return fail(fmt::format("--validation {} has the contents of --data {}", held_out.path, file.path),
                    "give rows that are not trained on");
  return {};
}

namespace {

namespace json = boost::json;

template <typename T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value();
}

json::array paths_of(const std::vector<DataFile>& files) {
  json::array paths;
  for (const DataFile& file : files) paths.emplace_back(file.path);
  return paths;
}

json::array facts_of(const std::vector<DataFile>& files) {
  json::array facts;
  for (const DataFile& file : files)
    facts.push_back({{"path", file.path}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  return facts;
}

}  // namespace

json::object to_json(const Job& job) {
  return {{"schema", "kernelwright.train-job/1"},
          {"model", job.model},
          {"data", paths_of(job.data)},
          {"files", facts_of(job.data)},
          {"validation", paths_of(job.validation)},
          {"validation_files", facts_of(job.validation)},
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
