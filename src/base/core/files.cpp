#include "base/core/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "base/core/text.h"

namespace kw {

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Result<Fd> Fd::duplicate() const {
  int copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) return fail(fmt::format("cannot duplicate a descriptor: {}", errno_text(errno)));
  return Fd(copy);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::optional<std::size_t> read_at(int fd, std::uint64_t offset, std::span<char> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {};
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Result<Fd> memory_file(std::string_view name, std::string_view bytes) {
  Fd fd(::memfd_create(std::string(name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return fail(fmt::format("cannot create a memory file: {}", errno_text(errno)));
  if (!write_all(fd.get(), bytes))
    return fail(fmt::format("cannot fill a memory file: {}", errno_text(errno)));
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail(fmt::format("cannot seal a memory file: {}", errno_text(errno)));
  return fd;
}

Result<std::string> read_memory_file(const Fd& fd, std::size_t max_bytes) {
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0)
    return fail(fmt::format("cannot stat a memory file: {}", errno_text(errno)));
  auto size = static_cast<std::size_t>(info.st_size);
  if (size > max_bytes) return fail(fmt::format("a memory file has {} bytes, over {}", size, max_bytes));
  std::string bytes(size, '\0');
  if (read_at(fd.get(), 0, bytes) != size) return fail("a memory file ended early");
  return bytes;
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(fmt::format("cannot read {}: {}", path.string(), errno_text(errno)));
  struct stat info{};
  if (::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode))
    return fail(fmt::format("cannot read {}: it is a directory", path.string()), "name a file in it");
  std::string bytes;
  std::string chunk(1 << 20, '\0');
  while (true) {
    ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(fmt::format("cannot read {}: {}", path.string(), errno_text(errno)));
    if (n == 0) return bytes;
    bytes.append(chunk, 0, static_cast<std::size_t>(n));
    if (bytes.size() > max_bytes)
      return fail(fmt::format("cannot read {}: it has more than {} bytes", path.string(), max_bytes));
  }
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t max_bytes) {
  auto bytes = read_file(path, max_bytes);
  if (bytes && !is_utf8(*bytes))
    return fail(fmt::format("{} is not UTF-8 text", path.string()),
                "convert it to UTF-8, or name another file");
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (bytes && bytes->starts_with(mark)) bytes->erase(0, mark.size());
  return bytes;
}

Result<> write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::path next = path;
  next += fmt::format(".{}.tmp", ::getpid());
  Fd fd(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot write {}: {}", path.string(), errno_text(errno)));
  auto failed = [&](std::string_view verb) {
    const int error = errno;
    ::unlink(next.c_str());
    return fail(fmt::format("cannot {} {}: {}", verb, path.string(), errno_text(error)));
  };
  if (!write_all(fd.get(), bytes)) return failed("write");
  if (::rename(next.c_str(), path.c_str()) != 0) return failed("replace");
  return {};
}

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
