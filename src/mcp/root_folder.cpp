#include "mcp/root_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <span>
#include <vector>

#include "base/core/display.h"
#include "base/core/text.h"
#include "mcp/shown.h"

namespace kw::mcp {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_path = 4'096;
constexpr std::size_t most_parts = 64;

std::unexpected<Error> refused(std::string_view path, std::string_view why) {
  return fail(fmt::format("{}: {}", shown(path), why),
              "name a source file below --root, by its path from there");
}

std::string_view reason_of(int error) {
  switch (error) {
    case ENOENT:
      return "no such file";
    case ELOOP:
      return "a part of the path is a symbolic link";
    case ENOTDIR:
      return "a part of the path is no folder, or a symbolic link";
    case EACCES:
      return "the file may not be read";
    default:
      return "the file cannot be opened";
  }
}

// The parts between slashes; nothing if one of them leads elsewhere.
std::optional<std::vector<std::string>> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    std::string part(path.substr(0, end));
    path.remove_prefix(std::min(path.size(), end + 1));
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.contains('\0') || parts.size() == most_parts) return {};
    parts.push_back(std::move(part));
  }
  return parts;
}

// Looks at the name first, because the open of a device may act on it; and again at what was opened, because
// the name may have changed. O_NONBLOCK: a pipe without a writer must not wait.
Result<Fd> open_regular(int folder, const std::string& name) {
  struct stat facts{};
  if (::fstatat(folder, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
    return fail(std::string(reason_of(errno)));
  if (S_ISLNK(facts.st_mode)) return fail("a symbolic link");
  if (!S_ISREG(facts.st_mode)) return fail("no regular file");
  Fd file(::openat(folder, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return fail(std::string(reason_of(errno)));
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return fail("no regular file");
  return file;
}

}  // namespace

Result<RootFolder> RootFolder::open(const std::string& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (error) return fail(fmt::format("--root {}: {}", path, error.message()), "name an existing folder");
  Fd folder(::open(real.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail(fmt::format("--root {}: {}", path, errno_text(errno)), "name a folder");
  return RootFolder(std::move(real), std::move(folder));
}

Result<std::string> RootFolder::read(std::string_view path, std::size_t most_bytes) const {
  if (path.empty() || path.size() > longest_path) return refused(path, "not the path of a file");
  std::string_view below = path;
  if (path.starts_with('/')) {
    const std::string root = path_ == "/" ? "/" : path_.string() + "/";
    if (!path.starts_with(root)) return refused(path, fmt::format("not below {}", path_.string()));
    below.remove_prefix(root.size());
  }
  auto parts = parts_of(below);
  if (!parts || parts->empty()) return refused(path, "not a path below --root");
  auto at = folder_.duplicate();
  if (!at) return std::unexpected(at.error());
  for (std::size_t i = 0; i + 1 < parts->size(); ++i) {
    Fd next(::openat(at->get(), (*parts)[i].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return refused(path, reason_of(errno));
    *at = std::move(next);
  }
  auto file = open_regular(at->get(), parts->back());
  if (!file) return refused(path, file.error().what);
  std::string text(most_bytes + 1, '\0');
  auto count = read_at(file->get(), 0, std::span<char>(text.data(), text.size()));
  if (!count) return refused(path, errno_text(errno));
  if (*count > most_bytes) return refused(path, fmt::format("larger than {} bytes", most_bytes));
  text.resize(*count);
  if (!is_utf8(text)) return refused(path, "not UTF-8");
  return text;
}

}  // namespace kw::mcp
