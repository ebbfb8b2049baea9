#include "collect/packed.h"

#include <set>

#include "collect/archive.h"
#include "collect/budget.h"
#include "collect/package.h"
#include "collect/safe_path.h"

namespace kw::collect {
namespace {

constexpr std::uint64_t max_licence_bytes = std::uint64_t{4} << 20;

// One run over the archive's entries. visit() gets each good file once; refuse() what is none.
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

// Reads an entry; says why it could not. False: the archive is over its limits.
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
  // What the first pass unpacks is unpacked once more: it counts once.
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

}  // namespace kw::collect
