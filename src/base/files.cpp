#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"

namespace kw {

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
  return bytes;
}

Result<> write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::path next = path;
  next += fmt::format(".{}.tmp", ::getpid());
  Fd fd(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot write {}: {}", next.string(), errno_text(errno)));
  while (!bytes.empty()) {
    ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(fmt::format("cannot write {}: {}", next.string(), errno_text(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::rename(next.c_str(), path.c_str()) != 0)
    return fail(fmt::format("cannot replace {}: {}", path.string(), errno_text(errno)));
  return {};
}

}  // namespace kw
