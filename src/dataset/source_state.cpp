#include "dataset/source_state.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "base/files.h"
#include "base/hash.h"
#include "corpus/names.h"
#include "schema/json.h"

namespace kw::dataset {
namespace fs = std::filesystem;
namespace json = boost::json;
namespace {

// To be raised when units are made in another way, so that no old state is taken for new.
constexpr int reading_version = 2;

// One line a file; links are named, never followed.
Result<std::string> tree_digest(const fs::path& root) {
  std::vector<std::string> lines;
  std::error_code error;
  for (fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end; at.increment(error)) {
    if (at->path().filename() == ".git") {
      at.disable_recursion_pending();
      continue;
    }
    struct stat status{};
    if (::lstat(at->path().c_str(), &status) != 0 || S_ISDIR(status.st_mode)) continue;
    lines.push_back(fmt::format("{}\t{}\t{}.{}\n", at->path().lexically_relative(root).string(),
                                status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec));
  }
  if (error) return fail(fmt::format("cannot read {}: {}", root.string(), error.message()));
  std::ranges::sort(lines);
  std::string all;
  for (const std::string& line : lines) all += line;
  return sha256_hex(all);
}

json::object counts(const Counts& values) {
  json::object object;
  for (const auto& [key, value] : values) object.emplace(key, value);
  return object;
}

Counts counts(const json::object& object, std::string_view key) {
  Counts values;
  const json::value* value = object.if_contains(key);
  if (!value || !value->is_object()) return values;
  for (const auto& [name, number] : value->get_object())
    if (number.is_number()) values[std::string(name)] = number.to_number<std::uint64_t>();
  return values;
}

std::uint64_t number(const json::object& object, std::string_view key) {
  return static_cast<std::uint64_t>(number_at(object, key).value_or(0));
}

}  // namespace

Result<std::string> source_key(const std::string& path, const corpus::Origin& origin,
                               const BuildSettings& settings) {
  std::string content = origin.sha256;
  if (content.empty()) {
    auto digest = tree_digest(path);
    if (!digest) return digest;
    content = *digest;
  }
  return sha256_hex_of({fmt::format("{} {}", reading_version, settings.cuda_fim), content, origin.name,
                        origin.version, origin.commit,
                        fmt::format("{} {} {} {}", settings.limits.file_bytes, settings.limits.total_bytes,
                                    settings.limits.entries, settings.limits.depth)})
      .substr(0, 32);
}

SourceFiles source_files(const fs::path& state, const std::string& key) {
  fs::path folder = state / "sources";
  return {folder / (key + ".units.jsonl"), folder / (key + ".skipped.jsonl"), folder / (key + ".json")};
}

Result<> save_facts(const SourceFacts& facts, const fs::path& path) {
  const corpus::Origin& origin = facts.origin;
  json::object object{{"kind", corpus::to_string(origin.kind)},
                      {"name", origin.name},
                      {"version", origin.version},
                      {"commit", origin.commit},
                      {"sha256", origin.sha256},
                      {"url", origin.url},
                      {"stars", origin.stars ? json::value(*origin.stars) : json::value(nullptr)},
                      {"files_seen", facts.tally.files_seen},
                      {"files_taken", facts.tally.files_taken},
                      {"bytes_seen", facts.tally.bytes_seen},
                      {"bytes_taken", facts.tally.bytes_taken},
                      {"skipped", counts(facts.tally.skipped)},
                      {"files_with_errors", facts.files_with_errors},
                      {"units", counts(facts.units)},
                      {"licences", counts(facts.licences)}};
  json::object evidence;
  for (const auto& [licence, said] : facts.licence_evidence) evidence.emplace(licence, counts(said));
  object.emplace("licence_evidence", std::move(evidence));
  return write_file(path, json::serialize(object));
}

std::optional<SourceFacts> load_facts(const fs::path& path) {
  std::error_code missing;
  if (!fs::exists(path, missing)) return std::nullopt;
  auto text = read_file(path);
  if (!text) return std::nullopt;
  auto value = parse_json(*text);
  if (!value || !value->is_object()) return std::nullopt;
  const json::object& object = value->get_object();
  SourceFacts facts;
  facts.origin.kind =
      corpus::origin_kind(string_at(object, "kind").value_or("")).value_or(corpus::OriginKind::folder);
  facts.origin.name = string_at(object, "name").value_or("");
  facts.origin.version = string_at(object, "version").value_or("");
  facts.origin.commit = string_at(object, "commit").value_or("");
  facts.origin.sha256 = string_at(object, "sha256").value_or("");
  facts.origin.url = string_at(object, "url").value_or("");
  if (auto stars = number_at(object, "stars")) facts.origin.stars = static_cast<std::int64_t>(*stars);
  facts.tally.files_seen = number(object, "files_seen");
  facts.tally.files_taken = number(object, "files_taken");
  facts.tally.bytes_seen = number(object, "bytes_seen");
  facts.tally.bytes_taken = number(object, "bytes_taken");
  facts.tally.skipped = counts(object, "skipped");
  facts.files_with_errors = number(object, "files_with_errors");
  facts.units = counts(object, "units");
  facts.licences = counts(object, "licences");
  if (const json::value* said = object.if_contains("licence_evidence"); said && said->is_object())
    for (const auto& each : said->get_object())
      facts.licence_evidence[std::string(each.key())] = counts(said->get_object(), each.key());
  facts.from_state = true;
  return facts;
}

}  // namespace kw::dataset
