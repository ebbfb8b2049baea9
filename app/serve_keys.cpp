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
  auto owners = service::read_keys_file(path_);
  if (!owners) read_.clear();
  return owners;
}

void KeysFile::look(const std::function<void(Owners owners)>& use) {
  if (path_.empty() || read_ == unfollowed) return;
  std::string now = stamp_of(path_);
  const bool settled = now == seen_;
  seen_ = std::move(now);
  if (!settled || seen_ == read_) return;
  // Opening a pipe would wait for its writer.
  Owners owners = seen_ == unfollowed ? fail(fmt::format("{} is no regular file", path_.string())) : read();
  const std::string why = owners ? "" : owners.error().what;
  if (owners || why != told_) use(std::move(owners));
  told_ = why;
}

}  // namespace kw::app
