#include "collect/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "collect/archive.h"
#include "collect/mapped_file.h"
#include "collect/packed.h"
#include "collect/safe_path.h"

namespace kw::collect {
namespace {

namespace fs = std::filesystem;

constexpr unsigned max_depth = 200;
constexpr std::uint64_t max_licence_bytes = std::uint64_t{4} << 20;

struct Item {
  std::string path;  // from the root, with '/'
  fs::file_type type = fs::file_type::regular;
  std::uint64_t size = 0;
  std::string reason;  // why it cannot be read; empty: it may
};

std::vector<fs::directory_entry> sorted(const fs::path& folder, std::error_code& error) {
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    entries.push_back(*it);
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.path().filename().native() < b.path().filename().native();
  });
  return entries;
}

struct Walk {
  const fs::path& root;
  const Limits& limits;
  std::vector<Item> items;
  bool full = false;

  void folder(const std::string& at, unsigned depth) {
    std::error_code error;
    for (const fs::directory_entry& entry : sorted(root / at, error)) {
      if (items.size() >= limits.entries) {
        full = true;
        return;
      }
      const std::string name = entry.path().filename().native();
      if (name == ".git") continue;
      add(at.empty() ? name : fmt::format("{}/{}", at, name), entry, depth);
      if (full) return;
    }
    if (error)
      items.push_back({.path = at, .type = fs::file_type::directory, .size = 0, .reason = "unreadable"});
  }

  void add(const std::string& path, const fs::directory_entry& entry, unsigned depth) {
    std::error_code error;
    const fs::file_type type = entry.symlink_status(error).type();
    Item item{.path = path, .type = type, .size = 0, .reason = {}};
    if (error || type == fs::file_type::unknown)
      item.reason = "unreadable";
    else if (type == fs::file_type::symlink)
      item.reason = "link";
    else if (type == fs::file_type::directory) {
      if (depth < max_depth) return folder(path, depth + 1);
      item.reason = "too deep";
    } else if (type != fs::file_type::regular)
      item.reason = "device";
    else if (SafePath safe = safe_path(path); safe.reason == "bad name" || safe.path != path)
      item.reason = "bad name";
    if (item.reason.empty()) item.size = entry.file_size(error);
    if (error) item.reason = "unreadable";
    items.push_back(std::move(item));
  }
};

// The file's bytes, or nothing: it went, it is larger than it was, it became something else.
std::optional<std::string> read_regular(const fs::path& path, std::uint64_t max_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (fd.get() < 0 || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  std::string bytes(std::min(static_cast<std::uint64_t>(info.st_size), max_bytes), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(fd.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

void read_archive(const fs::path& file, const corpus::Origin& origin, const Item& item,
                  std::uint64_t& unpacked, Gate& gate) {
  auto mapped = MappedFile::open(file.string());
  if (!mapped) return gate.skip(origin, item.path, "unreadable", mapped.error().what);
  read_nested({.bytes = mapped->bytes(), .prefix = item.path + "!", .depth = 1, .unpacked = &unpacked},
              origin, item.path, gate);
}

}  // namespace

Result<> read_folder(const std::string& path, const corpus::Origin& origin, Gate& gate) {
  const fs::path root(path);
  std::error_code error;
  fs::directory_iterator readable(root, error);
  if (error)
    return fail(fmt::format("cannot read {}: {}", path, errno_text(error.value())),
                "give a folder that may be read");
  Walk walk{.root = root, .limits = gate.limits(), .items = {}, .full = false};
  walk.folder("", 0);
  licence::Tree tree;
  for (const Item& item : walk.items)
    if (item.reason.empty() && (licence::is_licence_file(item.path) || licence::is_metadata_file(item.path)))
      if (auto bytes = read_regular(root / item.path, max_licence_bytes)) tree.add(item.path, *bytes);
  std::uint64_t unpacked = 0;
  for (const Item& item : walk.items) {
    if (item.type != fs::file_type::directory) gate.see(item.size);
    if (!item.reason.empty()) {
      gate.skip(origin, item.path, item.reason);
    } else if (gate.limits().depth > 0 && is_archive_name(item.path)) {
      read_archive(root / item.path, origin, item, unpacked, gate);
    } else if (gate.wants(item.path)) {
      if (item.size > gate.limits().file_bytes) {
        gate.skip(origin, item.path, "too large");
      } else if (auto bytes = read_regular(root / item.path, gate.limits().file_bytes)) {
        gate.offer(origin, item.path, std::move(*bytes), tree);
      } else {
        gate.skip(origin, item.path, "unreadable");
      }
    }
  }
  if (walk.full) gate.skip(origin, "", "too much", "the folder has more entries than the limits allow");
  return {};
}

}  // namespace kw::collect
