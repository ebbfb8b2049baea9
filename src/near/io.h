// Whole reads and writes at a place in a file.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"

namespace kw::near {

// Both are false with errno set; a read past the end is EIO.
inline bool read_at(const Fd& fd, void* to, std::size_t size, std::uint64_t from) {
  char* at = static_cast<char*>(to);
  while (size > 0) {
    ssize_t n = ::pread(fd.get(), at, size, static_cast<off_t>(from));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) return false;
    at += n;
    from += static_cast<std::uint64_t>(n);
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

inline bool write_at(const Fd& fd, const void* bytes, std::size_t size, std::uint64_t to) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    ssize_t n = ::pwrite(fd.get(), at, size, static_cast<off_t>(to));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    at += n;
    to += static_cast<std::uint64_t>(n);
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace kw::near
