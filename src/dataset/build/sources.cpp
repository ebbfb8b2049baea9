#include "dataset/build/sources.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <set>

#include "base/core/crypto.h"
#include "base/core/files.h"
#include "base/core/json.h"
#include "dataset/build/build_summary.h"
#include "dataset/build/jsonl.h"
#include "dataset/build/ordered.h"
#include "dataset/collect/origin.h"
#include "dataset/documents/documents.h"
#include "dataset/extract/harvest.h"
#include "dataset/fetch/git_clone.h"
#include "dataset/units/row.h"

namespace kw::dataset {
namespace fs = std::filesystem;
namespace json = boost::json;
namespace {

// Increase it when the extraction of units changes, so that old state is not used.
constexpr int reading_version = 5;

// One line per file; lists links without following them.
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
  for (const auto& [name, whole_at] : value->get_object())
    if (whole_at.is_number()) values[std::string(name)] = whole_at.to_number<std::uint64_t>();
  return values;
}

std::uint64_t whole_at(const json::object& object, std::string_view key) {
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
  json::object object{{"kind", to_string(origin.kind)},
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
  facts.origin.kind = from_string<corpus::OriginKind>(string_at(object, "kind").value_or(""))
                          .value_or(corpus::OriginKind::folder);
  facts.origin.name = string_at(object, "name").value_or("");
  facts.origin.version = string_at(object, "version").value_or("");
  facts.origin.commit = string_at(object, "commit").value_or("");
  facts.origin.sha256 = string_at(object, "sha256").value_or("");
  facts.origin.url = string_at(object, "url").value_or("");
  if (auto stars = number_at(object, "stars")) facts.origin.stars = static_cast<std::int64_t>(*stars);
  facts.tally.files_seen = whole_at(object, "files_seen");
  facts.tally.files_taken = whole_at(object, "files_taken");
  facts.tally.bytes_seen = whole_at(object, "bytes_seen");
  facts.tally.bytes_taken = whole_at(object, "bytes_taken");
  facts.tally.skipped = counts(object, "skipped");
  facts.files_with_errors = whole_at(object, "files_with_errors");
  facts.units = counts(object, "units");
  facts.licences = counts(object, "licences");
  if (const json::value* said = object.if_contains("licence_evidence"); said && said->is_object())
    for (const auto& each : said->get_object())
      facts.licence_evidence[std::string(each.key())] = counts(said->get_object(), each.key());
  facts.from_state = true;
  return facts;
}

namespace {

fs::path list_file(const BuildSettings& settings) {
  return settings.state / "sources.json";
}

bool is_run(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return fs::exists(path / "run.db", error);
  return path.filename() == "run.db" || path.extension() == ".json";
}

void add_once(std::vector<std::string>& all, const std::string& path) {
  if (std::ranges::find(all, path) == all.end()) all.push_back(path);
}

std::vector<std::string> texts(const json::object& object, std::string_view key) {
  std::vector<std::string> values;
  const json::value* list = object.if_contains(key);
  if (list && list->is_array())
    for (const json::value& value : list->get_array())
      if (value.is_string()) values.emplace_back(value.get_string());
  return values;
}

Result<Sources> earlier(const BuildSettings& settings) {
  auto text = read_file(list_file(settings));
  if (!text)
    return fail(fmt::format("--add: there is no earlier build in {}", settings.out.string()),
                "leave --add out for the first build");
  auto value = parse_json(*text);
  if (!value || !value->is_object()) return fail(list_file(settings).string() + " is damaged");
  return Sources{.trees = texts(value->get_object(), "trees"),
                 .runs = texts(value->get_object(), "runs"),
                 .pairs = texts(value->get_object(), "pairs"),
                 .pinned = {}};
}

Result<> clone_repositories(const BuildSettings& settings, const Watch& watch, Sources& sources) {
  std::error_code error;
  for (const fetch::GitSource& repository : settings.repositories) {
    if (watch.progress) watch.progress("clone " + repository.name(), 0, 0);
    auto clone = fetch::clone(
        repository,
        {.cache = settings.state / "repositories", .limits = settings.git_limits, .stop = watch.stop});
    if (!clone) return std::unexpected(clone.error());
    if (!fetch::is_full_commit(repository.revision)) sources.pinned.push_back(clone->pinned);
    add_once(sources.trees, fs::absolute(clone->folder, error).lexically_normal().string());
  }
  return {};
}

}  // namespace

Result<Sources> find_sources(const BuildSettings& settings, const Watch& watch) {
  Sources sources;
  if (settings.add) {
    auto before = earlier(settings);
    if (!before) return before;
    sources = std::move(*before);
  }
  std::error_code error;
  for (const std::string& path : settings.sources) {
    if (!fs::exists(path, error))
      return fail(fmt::format("{}: no such file or folder", path),
                  "--pypi NAME fetches a package, --git URL clones a repository");
    std::string full = fs::absolute(path, error).lexically_normal().string();
    add_once(is_run(path) ? sources.runs : sources.trees, full);
  }
  for (const std::string& folder : settings.pairs)
    add_once(sources.pairs, fs::absolute(folder, error).lexically_normal().string());
  if (!settings.packages.empty()) {
    fs::path folder = settings.state / "archives";
    fs::create_directories(folder, error);
    auto packages = fetch_packages(settings.python, settings.packages, settings.package_form, folder);
    if (!packages) return std::unexpected(packages.error());
    for (const FetchedPackage& package : *packages)
      add_once(sources.trees, fs::absolute(package.file, error).lexically_normal().string());
  }
  if (auto cloned = clone_repositories(settings, watch, sources); !cloned)
    return std::unexpected(cloned.error());
  return sources;
}

std::string run_name(const std::string& path) {
  fs::path full(path);
  if (!full.has_filename()) full = full.parent_path();
  return full.filename() == "run.db" ? full.parent_path().filename().string() : full.filename().string();
}

std::string pairs_name(const std::string& folder) {
  fs::path full = fs::path(folder).lexically_normal();
  return (full.has_filename() ? full : full.parent_path()).filename().string();
}

corpus::Licence LicenceRule::of(const std::string& source) const {
  auto found = stated.find(source);
  return found == stated.end() ? corpus::Licence{} : corpus::Licence{found->second, "--licence-of"};
}

namespace {

// The names of all sources, without fetching packages and repositories.
Result<std::set<std::string>> source_names(const BuildSettings& settings) {
  std::set<std::string> names;
  BuildSettings present = settings;
  present.packages.clear();
  present.repositories.clear();
  auto sources = find_sources(present, {});
  if (!sources) return std::unexpected(sources.error());
  for (const std::string& path : sources->trees)
    if (auto origin = collect::identify(path)) names.insert(origin->name);
  for (const std::string& run : sources->runs) names.insert(run_name(run));
  for (const std::string& folder : sources->pairs) names.insert(pairs_name(folder));
  for (const std::string& package : settings.packages)
    names.insert(collect::normal_name(package.substr(0, package.find('='))));
  for (const fetch::GitSource& repository : settings.repositories) names.insert(repository.name());
  return names;
}

}  // namespace

Result<> check_stated_licences(const BuildSettings& settings) {
  if (settings.licences.stated.empty()) return {};
  auto names = source_names(settings);
  if (!names) return {};  // The build reports the source that is missing.
  for (const auto& [name, spdx] : settings.licences.stated)
    if (!names->contains(name))
      return fail(fmt::format("--licence-of {}={}: no source has the name {}", name, spdx, name),
                  fmt::format("the sources are: {}", fmt::join(*names, ", ")));
  return {};
}

Result<> remember(const Sources& sources, const BuildSettings& settings) {
  json::object object{{"trees", json::array(sources.trees.begin(), sources.trees.end())},
                      {"runs", json::array(sources.runs.begin(), sources.runs.end())},
                      {"pairs", json::array(sources.pairs.begin(), sources.pairs.end())}};
  return write_file(list_file(settings), json::serialize(object));
}

namespace {

// The result of reading one file of a source.
struct Read {
  std::vector<harvest::ParseOutcome> outcomes;
  std::vector<collect::Skipped> skipped;
};

collect::Skipped skipped(const corpus::SourceFile& file, std::string reason, std::string detail) {
  return {file.origin.name, file.path, std::move(reason), std::move(detail)};
}

Read parse_document(const corpus::SourceFile& file, documents::Form form) {
  Read read;
  auto blocks = documents::code_blocks(form, file.bytes);
  if (!blocks) {
    read.skipped.push_back(skipped(file, "unreadable document", blocks.error().what));
    return read;
  }
  for (documents::CodeBlock& block : *blocks) {
    auto language = harvest::language_of(block.block.language, block.code);
    if (language == harvest::Language::none || !harvest::may_matter(block.code, language)) continue;
    corpus::SourceFile piece{file.origin, file.path, std::move(block.block), std::move(block.code),
                             file.licence};
    read.outcomes.push_back(harvest::parse(std::move(piece), language, {}));
    for (const std::string& lost : read.outcomes.back().lost)
      read.skipped.push_back(skipped(file, "kernel not read", lost));
  }
  return read;
}

Read parse_file(corpus::SourceFile file) {
  if (auto form = documents::form_of(file.path)) return parse_document(file, *form);
  auto language = harvest::language_of(file.path);
  Read read;
  if (!harvest::may_matter(file.bytes, language)) return read;
  corpus::SourceFile head{file.origin, file.path, {}, {}, {}};
  auto outcome = harvest::parse(std::move(file), language, {});
  if (!outcome.file) read.skipped.push_back(skipped(head, "unparsable", outcome.reason));
  for (const std::string& lost : outcome.lost) read.skipped.push_back(skipped(head, "kernel not read", lost));
  read.outcomes.push_back(std::move(outcome));
  return read;
}

class Gatherer {
 public:
  Gatherer(const BuildSettings& settings, const Watch& watch, Gathered& gathered)
      : settings_(settings), watch_(watch), gathered_(gathered) {}

  Result<> read(const std::string& path) {
    auto begin = Clock::now();
    auto skipped_file = JsonlWriter::create(gathered_.files.skipped);
    if (!skipped_file) return std::unexpected(skipped_file.error());
    skipped_.emplace(std::move(*skipped_file));
    Ordered<corpus::SourceFile, Read> pool(settings_.threads, parse_file, [this](Read read) { keep(read); });
    auto tally = collect::collect(path, settings_.limits, sink(pool));
    if (!tally) return std::unexpected(tally.error());
    pool.finish();
    if (watch_.stop && watch_.stop()) return fail("interrupted");
    auto& reasons = gathered_.facts.tally.skipped;
    for (const auto& [reason, count] : tally->skipped) reasons[reason] += count;
    std::swap(tally->skipped, reasons);
    gathered_.facts.tally = std::move(*tally);
    gathered_.collect_seconds = seconds_since(begin);
    return skipped_->finish();
  }

  Result<> link() {
    auto begin = Clock::now();
    auto file = JsonlWriter::create(gathered_.files.units);
    if (!file) return std::unexpected(file.error());
    std::set<std::string> seen;  // paths
    for (corpus::Unit& unit : harvest::link(files_)) {
      if (unit.kind == corpus::UnitKind::cuda_device && !settings_.cuda_fim) shrink(unit);
      ++gathered_.facts.units[std::string(to_string(unit.kind))];
      if (seen.insert(unit.source.path).second) add(gathered_.facts, unit.licence);
      if (auto written = file->write(corpus::to_json(unit)); !written) return written;
    }
    files_.clear();
    gathered_.link_seconds = seconds_since(begin);
    return file->finish();
  }

 private:
  collect::Sink sink(Ordered<corpus::SourceFile, Read>& pool) {
    collect::Sink sink;
    sink.wants = [](const std::string& path) {
      return harvest::language_of(path) != harvest::Language::none || documents::form_of(path);
    };
    sink.matters = [](std::string_view bytes) {
      return harvest::may_matter(bytes, harvest::Language::python) ||
             harvest::may_matter(bytes, harvest::Language::cuda);
    };
    sink.take = [this, &pool](corpus::SourceFile file) {
      if (watch_.stop && watch_.stop()) return;
      // Reading finds details that the name lacks, such as that an archive is a source distribution.
      if (taken_ == 0) gathered_.facts.origin = file.origin;
      if (watch_.progress) watch_.progress("read " + file.origin.name, ++taken_, 0);
      pool.push(std::move(file));
    };
    sink.skip = [this](const collect::Skipped& each) { say(each); };
    return sink;
  }

  // Generated headers contain tens of thousands of device functions. Only units that become rows need region
  // and context.
  static void shrink(corpus::Unit& unit) {
    unit.region.clear();
    unit.context.clear();
  }

  void say(const collect::Skipped& each) {
    // finish() reports a failed write.
    std::ignore = skipped_->write(
        {{"origin", each.origin}, {"path", each.path}, {"reason", each.reason}, {"detail", each.detail}});
  }

  void keep(Read& read) {
    for (const collect::Skipped& each : read.skipped) {
      ++gathered_.facts.tally.skipped[each.reason];
      say(each);
    }
    for (harvest::ParseOutcome& outcome : read.outcomes) {
      if (outcome.has_error) ++gathered_.facts.files_with_errors;
      if (outcome.file) files_.push_back(std::move(outcome.file));
    }
  }

  const BuildSettings& settings_;
  const Watch& watch_;
  Gathered& gathered_;
  std::optional<JsonlWriter> skipped_;
  std::vector<std::shared_ptr<const harvest::ParsedFile>> files_;
  std::uint64_t taken_ = 0;
};

}  // namespace

Result<Gathered> gather(const std::string& path, const BuildSettings& settings, const Watch& watch) {
  auto origin = collect::identify(path);
  if (!origin) return std::unexpected(origin.error());
  auto key = source_key(path, *origin, settings);
  if (!key) return std::unexpected(key.error());
  Gathered gathered;
  gathered.name = origin->name;
  gathered.files = source_files(settings.state, *key);
  if (auto facts = load_facts(gathered.files.facts)) {
    gathered.facts = std::move(*facts);
    return gathered;
  }
  std::error_code error;
  fs::create_directories(gathered.files.units.parent_path(), error);
  gathered.facts.origin = std::move(*origin);
  Gatherer gatherer(settings, watch, gathered);
  if (auto read = gatherer.read(path); !read) return std::unexpected(read.error());
  if (auto linked = gatherer.link(); !linked) return std::unexpected(linked.error());
  if (auto saved = save_facts(gathered.facts, gathered.files.facts); !saved)
    return std::unexpected(saved.error());
  return gathered;
}

}  // namespace kw::dataset
