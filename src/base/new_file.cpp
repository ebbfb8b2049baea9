#include "base/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/text.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t buffer_bytes = std::size_t{1} << 18;

std::unexpected<Error> cannot(const char* what, const fs::path& path, int error) {
  return fail(fmt::format("cannot {} {}: {}", what, path.string(), errno_text(error)),
              error == ENOSPC ? "free some space" : "name another file to write");
}

}  // namespace

Result<NewFile> NewFile::create(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  fs::path neighbour = path;
  neighbour += fmt::format(".{}.tmp", ::getpid());
  Fd fd(::open(neighbour.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) return cannot("write", neighbour, errno);
  return NewFile(path, std::move(neighbour), std::move(fd));
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      neighbour_(std::exchange(other.neighbour_, {})),
      fd_(std::move(other.fd_)),
      buffer_(std::move(other.buffer_)) {}

NewFile::~NewFile() {
  std::error_code ignored;
  if (!neighbour_.empty()) fs::remove(neighbour_, ignored);
}

Result<> NewFile::write(std::string_view bytes) {
  buffer_ += bytes;
  return buffer_.size() < buffer_bytes ? Result<>() : flush();
}

Result<> NewFile::flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    ssize_t n = ::write(fd_.get(), left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("write", neighbour_, errno);
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  buffer_.clear();
  return {};
}

Result<> NewFile::finish() {
  if (auto flushed = flush(); !flushed) return flushed;
  if (::fdatasync(fd_.get()) != 0) return cannot("write", neighbour_, errno);
  if (::rename(neighbour_.c_str(), path_.c_str()) != 0) return cannot("replace", path_, errno);
  neighbour_.clear();
  return {};
}

}  // namespace kw
