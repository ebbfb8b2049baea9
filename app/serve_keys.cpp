#include "serve_keys.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace kw::app {
namespace {

constexpr const char* unfollowed = "not a regular file";

// Differs once the file was changed or replaced. An error has one of its own.
std::string stamp_of(const std::filesystem::path& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return fmt::format("error {}", errno);
  if (!S_ISREG(facts.st_mode)) return unfollowed;
  return fmt::format("{}:{} {} {}.{:09} {}.{:09}", facts.st_dev, facts.st_ino, facts.st_size,
                     facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, facts.st_ctim.tv_sec,
                     facts.st_ctim.tv_nsec);
}

}  // namespace

KeysFile::Owners KeysFile::read() {
  if (path_.empty()) return {};
  read_ = seen_ = stamp_of(path_);
  return service::read_keys_file(path_);
}

void KeysFile::look(const std::function<void(Owners owners)>& use) {
  if (path_.empty() || read_ == unfollowed) return;
  std::string now = stamp_of(path_);
  const bool settled = now == seen_;
  seen_ = std::move(now);
  if (settled && seen_ != read_) use(read());
}

}  // namespace kw::app
