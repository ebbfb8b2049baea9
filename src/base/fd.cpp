#include "base/fd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/text.h"

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

Result<Fd> memory_file(std::string_view name, std::string_view bytes) {
  Fd fd(::memfd_create(std::string(name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return fail(fmt::format("cannot create a memory file: {}", errno_text(errno)));
  while (!bytes.empty()) {
    ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(fmt::format("cannot fill a memory file: {}", errno_text(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
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
  std::size_t done = 0;
  while (done < size) {
    ssize_t n = ::pread(fd.get(), bytes.data() + done, size - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail("a memory file ended early");
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

}  // namespace kw
