#include "dataset/write.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <map>
#include <optional>

#include "base/files.h"
#include "corpus/json.h"
#include "corpus/names.h"
#include "dataset/jsonl.h"
#include "table/line_reader.h"
#include "table/rows.h"

namespace kw::dataset {
namespace {

namespace fs = std::filesystem;

constexpr const char* csv_head = "prompt,completion\n";

// The files of one kind and side.
struct Side {
  NewFile csv;
  JsonlWriter metadata;
  JsonlWriter rows;  // for Parquet; goes again
};

struct Kind {
  std::optional<JsonlWriter> all;
  std::map<std::string, Side> sides;  // by split
};

// The token counts, one a line; nothing where none were made.
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

  Result<std::optional<std::int64_t>> next() {
    if (!lines_) return std::nullopt;
    auto line = lines_->next();
    if (!line) return std::unexpected(line.error());
    std::int64_t value = 0;
    if (!*line) return fail("the token counts end before the rows do");
    const std::string& text = (*line)->text;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
      return fail("the token counts hold a line that is no number");
    return value;
  }

 private:
  std::optional<LineReader> lines_;
};

class Writer {
 public:
  Writer(fs::path folder, Facts& facts) : folder_(std::move(folder)), facts_(facts) {}

  Result<> add(const corpus::Row& row) {
    dataset::add(facts_.rows, row);
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
    // A kind without rows says so by a file without rows.
    for (const char* kind : {"fim", "cu2triton", "torch2triton"})
      if (auto path = folder_ / (std::string(kind) + "_sft.csv"); !fs::exists(path) && !has(kind))
        if (auto written = write_file(path, csv_head); !written) return std::unexpected(written.error());
    std::vector<CardConfig> configs;
    for (auto& [kind, files] : kinds_) {
      CardConfig config;
      config.name = corpus::to_string(kind);
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
  bool has(std::string_view name) const {
    auto kind = corpus::row_kind(name);
    auto found = kinds_.find(*kind);
    return found != kinds_.end() && found->second.sides.contains("train");
  }

  Result<Side*> side_of(const corpus::Row& row) {
    std::string name(corpus::to_string(row.kind));
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

  // The Parquet file's path in the folder; empty where it could not be written.
  Result<std::string> finish_side(const std::string& kind, const std::string& split, Side& side,
                                  const PythonTools& python) {
    for (auto done : {side.csv.finish(), side.metadata.finish(), side.rows.finish()})
      if (!done) return std::unexpected(done.error());
    std::string path = fmt::format("data/{}/{}-00000-of-00001.parquet", kind, split);
    std::error_code error;
    fs::create_directories((folder_ / path).parent_path(), error);
    auto written = write_parquet(python, spool(kind, split), folder_ / path);
    fs::remove(spool(kind, split), error);
    // The rest of the set is of use without it.
    if (!written) {
      facts_.warnings.push_back(fmt::format("{} was not written: {}", path, written.error().what));
      return std::string();
    }
    return path;
  }

  fs::path folder_;
  Facts& facts_;
  std::map<corpus::RowKind, Kind> kinds_;
};

}  // namespace

Result<std::vector<CardConfig>> write_rows(const fs::path& rows, const fs::path& counts,
                                           const BuildSettings& settings, const fs::path& folder,
                                           Facts& facts) {
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
    row->tokens = *tokens;
    return writer.add(*row);
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
                             {"kind", corpus::to_string(card.kind)},
                             {"source", corpus::to_json(unit->place)},
                             {"licence", corpus::to_json(unit->licence)}};
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

}  // namespace kw::dataset
