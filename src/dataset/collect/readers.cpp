#include "dataset/collect/readers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <vector>

#include "base/core/files.h"
#include "base/core/text.h"
#include "dataset/collect/archive.h"
#include "dataset/collect/origin.h"

namespace kw::collect {

void Gate::see(std::uint64_t bytes) {
  ++tally_.files_seen;
  tally_.bytes_seen += bytes;
}

void Gate::skip(const corpus::Origin& origin, const std::string& path, std::string reason,
                std::string detail) {
  ++tally_.skipped[reason];
  if (sink_.skip)
    sink_.skip({.origin = origin.name,
                .path = to_plain_text(path),
                .reason = std::move(reason),
                .detail = std::move(detail)});
}

void Gate::offer(const corpus::Origin& origin, const std::string& path, std::string bytes,
                 const licence::Tree& tree) {
  if (bytes.find('\0') != std::string::npos) return skip(origin, path, "binary");
  if (!is_utf8(bytes)) return skip(origin, path, "not UTF-8");
  if (sink_.matters && !sink_.matters(bytes)) return;
  ++tally_.files_taken;
  tally_.bytes_taken += bytes.size();
  if (!sink_.take) return;
  corpus::Licence licence = tree.of(path, bytes);
  sink_.take({.origin = origin,
              .path = path,
              .block = std::nullopt,
              .bytes = std::move(bytes),
              .licence = std::move(licence)});
}

namespace {

// The expansion ratio is not checked up to this unpacked size.
constexpr std::uint64_t harmless = std::uint64_t{64} << 20;

std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

}  // namespace

bool Budget::bytes(std::uint64_t count) {
  own_ = plus(own_, count);
  all_ = plus(all_, count);
  if (all_ > limits_.total_bytes) return false;
  return own_ <= harmless || static_cast<double>(own_) <= limits_.expansion * static_cast<double>(packed_);
}

namespace {

// Reads the archive's entries once. Calls visit() for each valid file, and refuse() for each other entry.
template <typename Visit, typename Refuse>
Result<> walk(const Packed& packed, const Limits& limits, Visit visit, Refuse refuse) {
  auto archive = Archive::open(packed.bytes);
  if (!archive) return std::unexpected(archive.error());
  Budget budget(limits, packed.bytes.size(), *packed.unpacked);
  std::set<std::string> seen;
  for (bool first = true;; first = false) {
    auto entry = archive->next();
    if (!entry) {
      if (first) return std::unexpected(entry.error());
      refuse("", "damaged", entry.error().what, 0);
      return {};
    }
    if (!*entry) return {};
    const Entry& found = **entry;
    if (!budget.entry() || (found.streamed && !budget.bytes(found.size.value_or(0)))) {
      refuse(found.name, "too much", "the archive unpacks to more than the limits allow", 0);
      return {};
    }
    if (found.kind == Entry::Kind::folder) continue;
    const std::uint64_t size = found.size.value_or(0);
    SafePath safe = safe_path(found.name);
    if (!safe.reason.empty())
      refuse(found.name, safe.reason, "", size);
    else if (found.kind == Entry::Kind::link)
      refuse(safe.path, "link", "", size);
    else if (found.kind == Entry::Kind::special)
      refuse(safe.path, "device", "", size);
    else if (!seen.insert(safe.path).second)
      refuse(safe.path, "name twice", "", size);
    else if (found.encrypted)
      refuse(safe.path, "encrypted", "", size);
    else if (!visit(*archive, found, safe.path, budget))
      return {};
  }
}

// The result of reading an entry. `go_on` is false if the archive exceeds its limits.
struct Reading {
  std::string reason;  // empty: read
  std::string detail;
  bool go_on = true;
};

Reading read_entry(Archive& archive, const Entry& entry, std::uint64_t max_bytes, Budget& budget,
                   std::string& bytes) {
  if (entry.size.value_or(0) > max_bytes) return {.reason = "too large", .detail = {}, .go_on = true};
  Unpacked unpacked = archive.read(max_bytes);
  const bool within = entry.streamed || budget.bytes(unpacked.bytes.size());
  if (!within)
    return {
        .reason = "too much", .detail = "the archive unpacks to more than the limits allow", .go_on = false};
  if (unpacked.status == Unpacked::Status::too_large)
    return {.reason = "too large", .detail = {}, .go_on = true};
  if (unpacked.status == Unpacked::Status::damaged)
    return {.reason = "damaged", .detail = unpacked.detail, .go_on = true};
  bytes = std::move(unpacked.bytes);
  return {};
}

std::string top_folder(std::string_view path) {
  return std::string(path.substr(0, path.find('/')));
}

}  // namespace

Result<PackedFacts> read_facts(const Packed& packed, const Limits& limits) {
  PackedFacts facts;
  std::set<std::string> tops;
  bool info_at_top = false;
  const auto visit = [&](Archive& archive, const Entry& entry, const std::string& path, Budget& budget) {
    if (tops.size() < 2) tops.insert(top_folder(path));
    const bool licence = licence::is_licence_file(path);
    if (!licence && !licence::is_metadata_file(path)) return true;
    std::string bytes;
    const Reading reading = read_entry(archive, entry, max_licence_bytes, budget, bytes);
    if (!reading.reason.empty()) return reading.go_on;
    facts.tree.add(path, bytes);
    const bool at_top = is_package_info(path);
    if (at_top && facts.name.empty()) {
      const PackageNames names = read_package_names(bytes);
      facts.name = names.name;
      facts.version = names.version;
      facts.url = names.url;
    }
    info_at_top = info_at_top || (at_top && path.ends_with("/PKG-INFO"));
    return true;
  };
  const auto refuse = [](const std::string&, const std::string&, const std::string&, std::uint64_t) {};
  // The second pass unpacks the same bytes again; only one pass counts.
  std::uint64_t unpacked = *packed.unpacked;
  Packed own = packed;
  own.unpacked = &unpacked;
  if (auto done = walk(own, limits, visit, refuse); !done) return std::unexpected(done.error());
  facts.sdist = info_at_top && tops.size() == 1;
  return facts;
}

void read_files(const Packed& packed, const corpus::Origin& origin, const licence::Tree& tree, Gate& gate) {
  const auto refuse = [&](const std::string& path, const std::string& reason, const std::string& detail,
                          std::uint64_t size) {
    if (reason != "damaged" && reason != "too much") gate.see(size);
    gate.skip(origin, packed.prefix + path, reason, detail);
  };
  const auto visit = [&](Archive& archive, const Entry& entry, const std::string& path, Budget& budget) {
    const std::string shown = packed.prefix + path;
    const bool nested = packed.depth < gate.limits().depth && is_archive_name(path);
    gate.see(entry.size.value_or(0));
    if (!nested && !gate.wants(shown)) return true;
    std::string bytes;
    const Reading reading = read_entry(archive, entry, gate.limits().file_bytes, budget, bytes);
    if (!reading.reason.empty()) {
      gate.skip(origin, shown, reading.reason, reading.detail);
      return reading.go_on;
    }
    if (nested)
      read_nested(
          {.bytes = bytes, .prefix = shown + "!", .depth = packed.depth + 1, .unpacked = packed.unpacked},
          origin, shown, gate);
    else
      gate.offer(origin, shown, std::move(bytes), tree);
    return true;
  };
  if (auto done = walk(packed, gate.limits(), visit, refuse); !done)
    gate.skip(origin, packed.prefix, "damaged", done.error().what);
}

void read_nested(const Packed& packed, const corpus::Origin& origin, const std::string& path, Gate& gate) {
  auto facts = read_facts(packed, gate.limits());
  if (!facts) return gate.skip(origin, path, "damaged", facts.error().what);
  read_files(packed, origin, facts->tree, gate);
}

namespace {

namespace fs = std::filesystem;

constexpr unsigned max_depth = 200;

struct Item {
  std::string path;  // from the root, with '/'
  fs::file_type type = fs::file_type::regular;
  std::uint64_t size = 0;
  std::string reason;  // why it cannot be read; empty: it can
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

// The file's bytes; empty if the file was removed, grew, or is no longer a regular file.
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
