#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "types/review.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

std::unexpected<Error> cannot_store(const fs::path& path, int error) {
  return fail(fmt::format("cannot store the label in {}: {}", path.string(), errno_text(error)),
              "make the file writable, and free disk space");
}

// Refuses a symbolic link: a folder from elsewhere must not redirect labels into another file.
Result<Fd> open_log(const fs::path& path) {
  Fd file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!file) return cannot_store(path, errno);
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return cannot_store(path, errno);
  if (!S_ISREG(facts.st_mode))
    return fail(fmt::format("cannot store the label in {}: not a regular file", path.string()),
                "move it away");
  return file;
}

bool ends_in_mid_line(int file, off_t size) {
  char last = '\n';
  return size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n';
}

// The name of a new file is on disk once its folder is.
void sync_folder(const fs::path& path) {
  fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  Fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened) ::fsync(opened.get());
}

Result<> append_line(const fs::path& path, const json::object& line) {
  auto file = open_log(path);
  if (!file) return std::unexpected(file.error());
  while (::flock(file->get(), LOCK_EX) != 0)
    if (errno != EINTR) return cannot_store(path, errno);
  const off_t size = ::lseek(file->get(), 0, SEEK_END);
  std::string text = (ends_in_mid_line(file->get(), size) ? "\n" : "") + json::serialize(line) + "\n";
  if (!write_all(file->get(), text) || ::fdatasync(file->get()) != 0) {
    int error = errno;
    if (::ftruncate(file->get(), size) != 0) error = errno;
    return cannot_store(path, error);
  }
  if (size == 0) sync_folder(path);
  return {};
}

}  // namespace

Result<> append_review(const fs::path& path, const ReviewEntry& entry) {
  const ReviewedAnswer& answer = entry.answer;
  json::object line{{"key", answer.key}, {"task_id", text_or_null(answer.task_id)}};
  if (!answer.candidate_sha256.empty()) line["candidate_sha256"] = answer.candidate_sha256;
  if (!answer.row_id.empty()) line["row_id"] = answer.row_id;
  line["reviewer"] = entry.reviewer;
  line["label"] = entry.label ? json::value(to_string(*entry.label)) : json::value();
  line["note"] = entry.note;
  line["at"] = entry.at;
  return append_line(path, line);
}

Result<> append_queue(const fs::path& path, const ReviewQueue& queue) {
  return append_line(path,
                     {{"drawn", json::object{{"count", queue.count},
                                             {"seed", queue.seed},
                                             {"at", queue.at},
                                             {"keys", json::array(queue.keys.begin(), queue.keys.end())}}}});
}

}  // namespace kw
