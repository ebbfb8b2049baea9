#include "store/run_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/text.h"

namespace kw::store {
namespace {

std::unexpected<Error> taken(const std::filesystem::path& database, const std::filesystem::path& lock) {
  auto owner = read_file(lock, 64);
  std::string pid(owner ? trim(*owner) : std::string_view());
  return fail(fmt::format("run {} is in use by {}", database.parent_path().string(),
                          pid.empty() ? "another program" : fmt::format("process {}", pid)),
              "wait until it has ended, or write to another --output");
}

}  // namespace

Result<RunLock> RunLock::take(const std::filesystem::path& database) {
  std::filesystem::path path = database;
  path += ".lock";
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot write {}: {}", path.string(), errno_text(errno)));
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return taken(database, path);
    return fail(fmt::format("cannot lock {}: {}", path.string(), errno_text(errno)),
                "keep the run on a local file system");
  }
  std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd.get(), 0) != 0 ||
      ::pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()))
    return fail(fmt::format("cannot write {}: {}", path.string(), errno_text(errno)));
  return RunLock(std::move(fd));
}

}  // namespace kw::store
