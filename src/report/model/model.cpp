#include "report/model/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/core/standard_input.h"
#include "base/core/text.h"
#include "report/model/recognise.h"
#include "report/model/redact.h"
#include "report/model/reviews.h"
#include "report/model/source.h"
#include "types/review.h"

namespace kw::report {
namespace fs = std::filesystem;
namespace {

std::unique_ptr<Source> open(SourceParts parts) {
  switch (parts.found.kind) {
    case SourceKind::run:
      return run_source(std::move(parts));
    case SourceKind::traces:
      return trace_file_source(std::move(parts));
    case SourceKind::verdicts:
      return parts.found.of_kernelbench ? kernelbench_source(std::move(parts))
                                        : verdict_source(std::move(parts));
    case SourceKind::score:
      return score_source(std::move(parts));
    case SourceKind::dataset:
      break;
  }
  return dataset_source(std::move(parts));
}

// "traces.run" of "out/traces.run/", "x.run" of "x.run/run.db".
std::string name_of(const std::string& path) {
  if (shown_path(path) != path) return shown_path(path);
  fs::path clean = fs::path(path).lexically_normal();
  if (clean.filename().empty()) clean = clean.parent_path();
  if (clean.filename() == "run.db" && clean.has_parent_path()) clean = clean.parent_path();
  std::string name = to_utf8(clean.filename().string());
  return name.empty() || name == "." || name == ".." ? to_utf8(fs::absolute(clean).filename().string())
                                                     : name;
}

// Equal names get numbers.
std::string unique_name(const std::string& name, std::map<std::string, std::size_t>& used) {
  std::size_t number = ++used[name];
  return number == 1 ? name : fmt::format("{} ({})", name, number);
}

}  // namespace

struct Model::State {
  explicit State(ModelOptions given) : options(std::move(given)) {}

  void add(Found found) {
    SourceParts parts{
        .found = std::move(found), .name = {}, .prefix = key_prefix(sources.size()), .options = &options};
    parts.name = unique_name(shown_name(parts.found.path), names);
    reviews.add_log(review_log_path(parts.found.path), parts.prefix);
    sources.push_back(open(std::move(parts)));
  }

  void add_unreadable(const std::string& path, const Error& error) {
    SourceParts parts{
        .found = {path}, .name = unique_name(shown_name(path), names), .prefix = {}, .options = &options};
    sources.push_back(unreadable_source(std::move(parts), error));
  }

  std::string shown_name(const std::string& path) const {
    return Redactor(options.redact).text(name_of(path));
  }

  void assemble();
  void add_table(const Table& table, std::size_t source);
  void add_contents();

  ModelOptions options;
  std::map<std::string, std::size_t> names;
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<std::size_t> first_rows;  // of each source
  Index index;
  std::unordered_map<std::string_view, std::size_t> rows_by_key;
  Reviews reviews;
};

void Model::State::add_table(const Table& table, std::size_t source) {
  std::size_t first = index.rows.count;
  first_rows.push_back(first);
  for (std::size_t row = 0; row < table.rows.count; ++row) {
    index.rows.add_from(table.rows, row);
    index.rows.source.set(first + row, static_cast<std::int64_t>(source));
  }
  for (std::size_t turn = 0; turn < table.turns.count; ++turn) {
    index.turns.add_from(table.turns, turn);
    std::size_t at = index.turns.count - 1;
    index.turns.row.set(at, static_cast<std::int64_t>(first) + *index.turns.row[at]);
  }
}

void Model::State::add_contents() {
  std::map<std::string, std::uint64_t> left_out;
  std::uint64_t paths = 0;
  std::uint64_t hosts = 0;
  std::uint64_t keys = 0;
  std::vector<std::pair<std::string, std::uint64_t>> holds{
      {"prompts", 0},  {"completions", 0},  {"reasoning", 0}, {"kernels", 0}, {"references", 0},
      {"verdicts", 0}, {"dataset_rows", 0}, {"paths", 0},     {"hosts", 0},   {"keys", 0}};
  for (const auto& source : sources) {
    for (const RowCounts& row : source->table().counts) {
      std::size_t at = 0;
      for (std::uint32_t count : {row.prompts, row.completions, row.reasoning, row.kernels, row.references,
                                  row.verdicts, row.dataset_rows})
        holds[at++].second += count;
    }
    paths += source->private_counts().paths;
    hosts += source->private_counts().hosts;
    keys += source->private_counts().keys;
    for (const auto& [licence, count] : source->left_out()) left_out[licence] += count;
  }
  Contents& contents = index.contents;
  contents.redacted = options.redact;
  holds[7].second = paths;
  holds[8].second = hosts;
  holds[9].second = keys;
  for (auto& [what, count] : holds) {
    bool is_removed =
        options.redact && (what == "prompts" || what == "paths" || what == "hosts" || what == "keys");
    if (count > 0 && is_removed)
      contents.left_out.push_back({what, count, "--redact"});
    else if (count > 0)
      contents.holds.push_back({what, count});
  }
  for (const auto& [licence, count] : left_out)
    contents.left_out.push_back({"rows", count, fmt::format("licence {}", licence)});
}

void Model::State::assemble() {
  index = {};
  first_rows.clear();
  rows_by_key.clear();
  index.program_version = options.program_version;
  index.made_at = options.made_at.empty() ? utc_now() : options.made_at;
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source& source = *sources[i];
    titles.push_back(source.facts().name);
    index.sources.push_back(source.facts());
    add_table(source.table(), i);
    boost::json::object extra = source.extra();
    if (extra.empty()) continue;
    extra["source"] = i;
    (source.facts().kind == SourceKind::score ? index.scores : index.datasets).push_back(std::move(extra));
  }
  // The sources keep the words as they are: ids refer to rows by them.
  if (options.redact)
    index.rows.change_words([](std::string_view word) { return Redactor(true).text(word); });
  index.title = titles.size() <= 3 ? fmt::format("{}", fmt::join(titles, ", "))
                                   : fmt::format("{} and {} more", titles.front(), titles.size() - 1);
  add_contents();
  rows_by_key.reserve(index.rows.count);
  for (std::size_t row = 0; row < index.rows.count; ++row) rows_by_key.emplace(index.rows.key[row], row);
  for (const auto& [key, review] : reviews.by_key())
    if (auto row = rows_by_key.find(key); row != rows_by_key.end()) {
      index.rows.label.set(row->second, review.label);
      index.rows.reviewers.set(row->second, static_cast<std::int64_t>(review.reviewers.size()));
    }
}

Model::Model(const std::vector<std::string>& paths, ModelOptions options)
    : state_(std::make_unique<State>(std::move(options))) {
  for (const std::string& path : paths) {
    auto found = recognise_inputs(path);
    if (!found) {
      state_->add_unreadable(path, found.error());
      continue;
    }
    for (Found& each : *found) state_->add(std::move(each));
  }
  state_->assemble();
}

Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

Result<> Model::read(const Sink& each_detail) {
  std::size_t first = 0;
  for (const auto& source : state_->sources) {
    Source::Sink sink;
    if (each_detail)
      sink = [&](std::size_t row, boost::json::object detail) {
        return each_detail(first + row, std::move(detail));
      };
    if (auto read = source->read(sink); !read) return read;
    first += source->table().rows.count;
  }
  state_->reviews.read(
      [&](std::size_t source, const std::string& message) { state_->sources[source]->note(message); });
  state_->assemble();
  return {};
}

bool Model::refresh() {
  bool changed = false;
  for (const auto& source : state_->sources) changed = source->refresh() || changed;
  changed = state_->reviews.read() || changed;
  if (changed) state_->assemble();
  return changed;
}

const Index& Model::index() const {
  return state_->index;
}

std::optional<std::size_t> Model::row_of(std::string_view key) const {
  auto found = state_->rows_by_key.find(key);
  if (found == state_->rows_by_key.end()) return {};
  return found->second;
}

Result<boost::json::object> Model::detail(std::string_view key) {
  auto row = row_of(key);
  if (!row) return fail(fmt::format("no row has the key \"{}\"", key));
  return detail(*row);
}

Result<boost::json::object> Model::detail(std::size_t row) {
  const auto& starts = state_->first_rows;
  auto after = std::ranges::upper_bound(starts, row);
  // Sources without rows begin where the next one begins.
  auto source = static_cast<std::size_t>(after - starts.begin()) - 1;
  return state_->sources[source]->detail(row - starts[source]);
}

void Model::set_places(const std::vector<DetailPlace>& places) {
  Rows& rows = state_->index.rows;
  for (std::size_t row = 0; row < std::min(places.size(), rows.count); ++row) {
    rows.chunk.set(row, static_cast<std::int64_t>(places[row].chunk));
    rows.offset.set(row, static_cast<std::int64_t>(places[row].offset));
    rows.bytes.set(row, static_cast<std::int64_t>(places[row].bytes));
  }
}

bool Model::is_whole() const {
  return std::ranges::none_of(state_->index.sources,
                              [](const SourceFacts& source) { return source.state == SourceState::damaged; });
}

}  // namespace kw::report
