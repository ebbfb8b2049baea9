#include "sqlite/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/text.h"

namespace kw::sqlite {
namespace {

std::unexpected<Error> taken(const FileLock::Words& words, const std::filesystem::path& lock) {
  auto owner = read_file(lock, 64);
  std::string pid(owner ? trim(*owner) : std::string_view());
  return fail(fmt::format("{} is in use by {}", words.name,
                          pid.empty() ? "another program" : fmt::format("process {}", pid)),
              words.remedy);
}

}  // namespace

Result<FileLock> FileLock::take(const std::filesystem::path& file, const Words& words) {
  std::filesystem::path path = file;
  path += ".lock";
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot write {}: {}", path.string(), errno_text(errno)));
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return taken(words, path);
    return fail(fmt::format("cannot lock {}: {}", path.string(), errno_text(errno)),
                "keep it on a local file system");
  }
  std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd.get(), 0) != 0 ||
      ::pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()))
    return fail(fmt::format("cannot write {}: {}", path.string(), errno_text(errno)));
  return FileLock(std::move(fd));
}

}  // namespace kw::sqlite
