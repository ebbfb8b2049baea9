#include "dataset/build/write.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "base/rows/row_reader.h"
#include "base/rows/rows.h"
#include "dataset/build/jsonl.h"
#include "dataset/build/row_files.h"
#include "dataset/units/row.h"

namespace kw::dataset {
namespace fs = std::filesystem;

Staging::Staging(fs::path target) : target_(std::move(target)), folder_(target_ / ".new") {}

Staging::~Staging() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

namespace {

// Whether a build left the folder, or was interrupted in it: a build locks its state folder first.
bool is_of_a_build(const BuildSettings& settings) {
  std::error_code error;
  const fs::path& out = settings.out;
  if (fs::exists(out / ".state/lock", error)) return true;
  if (fs::equivalent(settings.state.parent_path(), out, error) && fs::exists(settings.state / "lock", error))
    return true;
  auto provenance = read_text_file(out / "PROVENANCE.md");
  return provenance && provenance->starts_with(provenance_heading);
}

}  // namespace

Result<> check_output(const BuildSettings& settings) {
  std::error_code error;
  const fs::path& out = settings.out;
  if (!fs::exists(out, error)) return {};
  if (!fs::is_directory(out, error))
    return fail(fmt::format("{} is a file; `dataset build` writes a folder", out.string()),
                "choose another --output");
  fs::directory_iterator entries(out, error);
  if (error) return fail(fmt::format("cannot read {}: {}", out.string(), error.message()));
  for (const auto& entry : entries) {
    // The staging folder of a killed build; the decisions that this build reads.
    if (entry.path().filename() == ".new" || fs::equivalent(entry.path(), settings.review, error)) continue;
    if (is_of_a_build(settings)) break;
    return fail(fmt::format("{} is not empty, and no folder of `dataset build`", out.string()),
                "choose another --output");
  }
  return {};
}

Result<> Staging::make() {
  std::error_code error;
  fs::remove_all(folder_, error);
  fs::create_directories(folder_, error);
  if (error) return fail(fmt::format("cannot make {}: {}", folder_.string(), error.message()));
  return {};
}

Result<> Staging::publish() {
  // Remaining files of an earlier build would look like files of this build.
  static constexpr const char* made[] = {"data", "figs", "tokenizer.json"};
  std::error_code error;
  for (const char* name : made) fs::remove_all(target_ / name, error);
  for (const char* kind : {"fim", "cu2triton", "torch2triton", "trace"})
    for (const char* end :
         {".jsonl", "_sft.csv", "_sft.meta.jsonl", "_sft_validation.csv", "_sft_validation.meta.jsonl"})
      fs::remove(target_ / (std::string(kind) + end), error);
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder_, error)) entries.push_back(entry.path());
  for (const fs::path& entry : entries) {
    fs::rename(entry, target_ / entry.filename(), error);
    if (error) return fail(fmt::format("cannot move {} into place: {}", entry.string(), error.message()));
  }
  return {};
}

Result<StateLock> StateLock::take(const fs::path& state) {
  std::error_code error;
  fs::create_directories(state, error);
  if (error)
    return fail(fmt::format("cannot make {}: {}", state.string(), error.message()),
                "check the folder's permissions, or choose another --output or --state");
  fs::path path = state / "lock";
  Fd fd(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot make {}: {}", path.string(), errno_text(errno)));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(fmt::format("another build uses {}", state.string()),
                "wait for it, or choose another --state");
  return StateLock(std::move(fd));
}

namespace {

namespace fs = std::filesystem;

constexpr const char* csv_head = "prompt,completion\n";

// The files of one kind and split.
struct Side {
  NewFile csv;
  JsonlWriter metadata;
  JsonlWriter rows;  // temporary, for Parquet
};

struct Kind {
  std::optional<JsonlWriter> all;
  std::map<std::string, Side> sides;  // by split
};

// The tokens of a row, and of its prompt.
struct TokensOfRow {
  std::optional<std::int64_t> all;
  std::optional<std::int64_t> prompt;
};

// Reads the token counts, two per line; without a file, each count is empty.
class Counted {
 public:
  static Result<Counted> open(const fs::path& path) {
    Counted counted;
    if (path.empty()) return counted;
    auto lines = open_lines(path.string());
    if (!lines) return std::unexpected(lines.error());
    counted.lines_.emplace(std::move(*lines));
    return counted;
  }

  Result<TokensOfRow> next() {
    if (!lines_) return TokensOfRow{};
    auto line = lines_->next();
    if (!line) return std::unexpected(line.error());
    if (!*line) return fail("fewer token counts than rows");
    const std::string& text = (*line)->text;
    const char* end = text.data() + text.size();
    std::int64_t all = 0;
    std::int64_t prompt = 0;
    auto first = std::from_chars(text.data(), end, all);
    if (first.ec != std::errc() || first.ptr == end ||
        std::from_chars(first.ptr + 1, end, prompt).ec != std::errc())
      return fail("the token counts have a line without two numbers");
    return TokensOfRow{all, prompt};
  }

 private:
  std::optional<LineReader> lines_;
};

class Writer {
 public:
  Writer(fs::path folder, BuildSummary& facts) : folder_(std::move(folder)), facts_(facts) {}

  Result<> add(const corpus::Row& row, std::optional<std::int64_t> prompt_tokens) {
    dataset::add(facts_.rows, row, prompt_tokens);
    auto side = side_of(row);
    if (!side) return std::unexpected(side.error());
    if (auto w = (*side)->csv.write(table::csv_record({row.prompt, row.completion})); !w) return w;
    auto metadata = corpus::metadata(row);
    if (auto w = (*side)->metadata.write(metadata); !w) return w;
    auto whole = corpus::to_json(row);
    if (auto w = (*side)->rows.write(whole); !w) return w;
    return kinds_.at(row.kind).all->write(whole);
  }

  Result<std::vector<CardConfig>> finish(const PythonTools& python) {
    std::vector<CardConfig> configs;
    for (auto& [kind, files] : kinds_) {
      CardConfig config;
      config.name = to_string(kind);
      if (auto done = files.all->finish(); !done) return std::unexpected(done.error());
      for (auto& [split, side] : files.sides) {
        auto parquet = finish_side(config.name, split, side, python);
        if (!parquet) return std::unexpected(parquet.error());
        if (!parquet->empty()) config.files[split] = *parquet;
      }
      if (!config.files.empty()) configs.push_back(std::move(config));
    }
    return configs;
  }

 private:
  Result<Side*> side_of(const corpus::Row& row) {
    std::string name(to_string(row.kind));
    Kind& kind = kinds_[row.kind];
    if (!kind.all) {
      auto all = JsonlWriter::create(folder_ / (name + ".jsonl"));
      if (!all) return std::unexpected(all.error());
      kind.all.emplace(std::move(*all));
    }
    auto found = kind.sides.find(row.split);
    if (found != kind.sides.end()) return &found->second;
    std::string stem = name + "_sft" + (row.split == "train" ? "" : "_" + row.split);
    auto csv = NewFile::create(folder_ / (stem + ".csv"));
    if (!csv) return std::unexpected(csv.error());
    if (auto head = csv->write(csv_head); !head) return std::unexpected(head.error());
    auto metadata = JsonlWriter::create(folder_ / (stem + ".meta.jsonl"));
    if (!metadata) return std::unexpected(metadata.error());
    auto rows = JsonlWriter::create(spool(name, row.split));
    if (!rows) return std::unexpected(rows.error());
    auto [made, is_new] =
        kind.sides.try_emplace(row.split, Side{std::move(*csv), std::move(*metadata), std::move(*rows)});
    return &made->second;
  }

  fs::path spool(const std::string& kind, const std::string& split) const {
    return folder_ / fmt::format("{}.{}.rows", kind, split);
  }

  // The Parquet file's path in the folder; empty if it could not be written.
  Result<std::string> finish_side(const std::string& kind, const std::string& split, Side& side,
                                  const PythonTools& python) {
    for (auto done : {side.csv.finish(), side.metadata.finish(), side.rows.finish()})
      if (!done) return std::unexpected(done.error());
    std::string path = fmt::format("data/{}/{}-00000-of-00001.parquet", kind, split);
    std::error_code error;
    fs::create_directories((folder_ / path).parent_path(), error);
    if (error)
      return fail(
          fmt::format("cannot make {}: {}", (folder_ / path).parent_path().string(), error.message()));
    auto written = write_parquet(python, spool(kind, split), folder_ / path);
    fs::remove(spool(kind, split), error);
    // The rest of the dataset is useful without it, so this is a warning.
    if (!written) {
      facts_.warnings.push_back(fmt::format("{} was not written: {}", path, written.error().what));
      return std::string();
    }
    return path;
  }

  fs::path folder_;
  BuildSummary& facts_;
  std::map<corpus::RowKind, Kind> kinds_;
};

}  // namespace

Result<std::vector<CardConfig>> write_rows(const fs::path& rows, const fs::path& counts,
                                           const BuildSettings& settings, const fs::path& folder,
                                           BuildSummary& facts) {
  auto counted = Counted::open(counts);
  if (!counted) return std::unexpected(counted.error());
  Writer writer(folder, facts);
  auto read = each_line(rows, [&](const std::string& line, std::uint64_t) -> Result<> {
    auto object = object_of(line, rows);
    if (!object) return std::unexpected(object.error());
    auto row = corpus::row_from_json(*object);
    if (!row) return std::unexpected(row.error());
    auto tokens = counted->next();
    if (!tokens) return std::unexpected(tokens.error());
    row->tokens = tokens->all;
    return writer.add(*row, tokens->prompt);
  });
  if (!read) return std::unexpected(read.error());
  return writer.finish(settings.python);
}

Result<> write_left_out(const UnitStore& units, const std::vector<UnitFate>& fates, const fs::path& folder) {
  auto duplicates = JsonlWriter::create(folder / "duplicates.jsonl");
  if (!duplicates) return std::unexpected(duplicates.error());
  auto left_out = JsonlWriter::create(folder / "left_out.jsonl");
  if (!left_out) return std::unexpected(left_out.error());
  for (std::size_t i = 0; i < fates.size(); ++i) {
    const UnitCard& card = units.cards()[i];
    bool is_duplicate = fates[i].fate != Fate::out && fates[i].fate != Fate::kept;
    if (!is_duplicate && card.allowed) continue;
    auto unit = units.at(i);
    if (!unit) return std::unexpected(unit.error());
    boost::json::object line{{"unit", card.id},
                             {"name", card.name},
                             {"kind", to_string(card.kind)},
                             {"source", corpus::to_json(unit->source)},
                             {"licence", corpus::to_json(unit->licence)}};
    if (!is_duplicate) line["target"] = to_string(card.target);
    if (is_duplicate) {
      line["duplicate_of"] = units.cards()[fates[i].kept_as].id;
      line["how"] = to_string(fates[i].fate);
      line["jaccard"] = fates[i].jaccard;
    }
    if (auto written = (is_duplicate ? *duplicates : *left_out).write(line); !written) return written;
  }
  if (auto done = duplicates->finish(); !done) return done;
  return left_out->finish();
}

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* kinds[] = {"fim", "cu2triton", "torch2triton", "trace"};

Result<std::vector<std::string>> files_of(const ExportSettings& settings) {
  std::error_code error;
  if (!fs::is_directory(settings.source, error)) {
    if (!settings.kinds.empty()) return fail("--kind requires the folder of a build", "leave it out");
    return std::vector{settings.source};
  }
  std::vector<std::string> files;
  for (const char* kind : kinds) {
    bool wanted = settings.kinds.empty() || std::ranges::find(settings.kinds, kind) != settings.kinds.end();
    fs::path path = fs::path(settings.source) / (std::string(kind) + ".jsonl");
    if (wanted && fs::exists(path, error)) files.push_back(path.string());
  }
  if (files.empty())
    return fail(fmt::format("{} has no rows of that kind", settings.source),
                "give an output folder of `dataset build`, or a file of rows");
  return files;
}

bool holds(const json::object& labels, const std::string& label) {
  if (label == "compilable") return string_at(labels, "compile") == "compilable";
  return bool_at(labels, label).value_or(false);
}

// The label of the row's review; empty if it has none.
std::optional<ReviewLabel> label_of(const table::TextRow& row, const ReviewLabels& reviews) {
  auto id = string_at(row.rest, "id");
  auto found = id ? reviews.of_row(*id) : std::nullopt;
  return found ? std::optional(found->label) : std::nullopt;
}

AddedColumn review_column(const ReviewLabels& reviews) {
  return {"review", [&reviews](const table::TextRow& row) -> json::value {
            auto label = label_of(row, reviews);
            return label ? json::value(to_string(*label)) : json::value();
          }};
}

// Whether the row's metadata pass the filters.
Result<bool> wanted(const table::TextRow& row, const ExportSettings& settings) {
  if (!settings.split.empty()) {
    auto split = string_at(row.rest, "split");
    if (!split) return fail("--split: the rows have no column `split`");
    if (*split != settings.split) return false;
  }
  if (settings.without_flags) {
    const json::value* leaks = row.rest.if_contains("leakage");
    if (!leaks || !leaks->is_array()) return fail("--unflagged: the rows have no column `leakage`");
    if (!leaks->get_array().empty()) return false;
  }
  if (!settings.leave_out.empty() && !row.rest.contains("id"))
    return fail("--leave-out: the rows have no column `id`");
  auto label = label_of(row, settings.reviews);
  if (label && std::ranges::find(settings.leave_out, *label) != settings.leave_out.end()) return false;
  if (settings.labels.empty()) return true;
  const json::value* labels = row.rest.if_contains("labels");
  if (!labels || !labels->is_object()) return fail("--label: the rows have no column `labels`");
  return std::ranges::all_of(settings.labels,
                             [&](const std::string& label) { return holds(labels->get_object(), label); });
}

}  // namespace

Result<ExportTally> export_rows(const ExportSettings& settings) {
  auto paths = files_of(settings);
  if (!paths) return std::unexpected(paths.error());
  ExportTally tally;
  RowFiles files;
  std::vector<std::uint32_t> chosen;
  for (const std::string& path : *paths) {
    auto read = files.add(
        path, settings.read,
        [&](std::uint32_t number, const table::TextRow& row) -> Result<> {
          auto is_wanted = wanted(row, settings);
          if (!is_wanted) return std::unexpected(is_wanted.error());
          if (*is_wanted) chosen.push_back(number);
          return {};
        },
        [&](const RowError& error) {
          ++tally.bad_rows;
          if (tally.bad.size() < bad_rows_told) tally.bad.push_back(describe(error));
        });
    if (!read) return std::unexpected(read.error());
  }
  tally.rows = files.count();
  tally.written = chosen.size();
  if (tally.rows == 0 && tally.bad_rows == 0)
    return fail("there are no rows to choose from", "name files of rows, as `dataset build` writes them");
  if (chosen.empty()) return fail("no row matches all filters", "give fewer labels, or another split");
  CopyTarget target{settings.out, settings.spill, settings.python, settings.read.prompt,
                    settings.read.completion};
  target.messages = settings.messages;
  if (!settings.reviews.empty()) target.added = review_column(settings.reviews);
  if (!settings.metadata) target.columns = {settings.read.prompt, settings.read.completion};
  std::size_t next = 0;
  auto copied = copy_rows(
      files,
      [&]() -> std::optional<std::uint32_t> {
        return next < chosen.size() ? std::optional(chosen[next++]) : std::nullopt;
      },
      target);
  if (!copied) return std::unexpected(copied.error());
  return tally;
}

}  // namespace kw::dataset
