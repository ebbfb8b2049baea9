#include "training/event_log.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <cerrno>
#include <chrono>

#include "base/text.h"

namespace kw::training {
namespace {

std::string now() {
  auto time = std::chrono::system_clock::now();
  auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count() % 1000;
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)), ms);
}

bool write_all(const Fd& fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// Whether the last byte is anything but a line break.
bool is_torn(const Fd& fd) {
  off_t size = ::lseek(fd.get(), 0, SEEK_END);
  char last = '\n';
  return size > 0 && ::pread(fd.get(), &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

Result<EventLog> EventLog::open(const std::filesystem::path& file) {
  Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot write {}: {}", file.string(), errno_text(errno)));
  if (is_torn(fd) && !write_all(fd, "\n"))
    return fail(fmt::format("cannot write {}: {}", file.string(), errno_text(errno)));
  return EventLog(file, std::move(fd));
}

Result<> EventLog::add(boost::json::object event) {
  if (!fd_) return {};
  event["time"] = now();
  if (write_all(fd_, boost::json::serialize(event) + "\n")) return {};
  int error = errno;
  fd_.reset();
  return fail(
      fmt::format("cannot write {}: {}; what follows is not logged", path_.string(), errno_text(error)));
}

}  // namespace kw::training
