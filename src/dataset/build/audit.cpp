#include "dataset/build/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <map>
#include <optional>
#include <set>

#include "base/core/json.h"
#include "dataset/build/build_summary.h"
#include "dataset/build/jsonl.h"
#include "dataset/build/ordered.h"
#include "dataset/build/row_files.h"
#include "dataset/build/row_sink.h"
#include "dataset/build/sketches.h"
#include "dataset/units/row.h"

namespace kw::dataset {
namespace {

namespace fs = std::filesystem;

struct Looked {
  std::string id;
  std::string unit;  // of a row of a build: the function that it was cut from; empty: not known
  std::vector<corpus::Leak> leaks;
};

class Audit {
 public:
  Audit(const AuditSettings& settings, const Watch& watch) : settings_(settings), watch_(watch) {}

  Result<AuditTally> run() {
    std::vector<Stage> stages;
    {
      StageClock clock(stages, "audit");
      for (auto step : {&Audit::open, &Audit::read, &Audit::compare_rows, &Audit::write})
        if (auto done = (this->*step)(); !done) return std::unexpected(done.error());
    }
    tally_.seconds = stages.back().seconds;
    return std::move(tally_);
  }

 private:
  Result<> open() {
    std::vector<leak::Reference> references;
    for (const std::string& path : settings_.against) {
      auto found = leak::open_references(path, settings_.read.parquet);
      if (!found) return std::unexpected(found.error());
      references.insert(references.end(), found->begin(), found->end());
    }
    tally_.benchmarks = compared(references);
    benchmarks_.emplace(std::move(references), settings_.leak);
    words_ = settings_.near;
    words_.words_only = true;
    words_.shingle_tokens = 1;
    words_.threshold = settings_.leak.jaccard;
    auto sketches = KeptSketches::open(settings_.spill / "sketches", words_);
    if (!sketches) return std::unexpected(sketches.error());
    sketches_.emplace(std::move(*sketches));
    return {};
  }

  // Training rows first, then validation rows.
  Result<> read() {
    Sketching sketching(*sketches_, settings_.threads,
                        [this](std::uint32_t sketch, bool) { rows_of_[sketch].push_back(placed_++); });
    Ordered<table::TextRow, Looked> pool(
        settings_.threads, [this](const table::TextRow& row) { return look(row); },
        [this](Looked looked) {
          leaks_.push_back(std::move(looked.leaks));
          ids_.push_back(std::move(looked.id));
          units_.push_back(std::move(looked.unit));
        });
    for (bool validation : {false, true}) {
      if (validation) first_validation_ = files_.count();
      for (const std::string& path : validation ? settings_.validation : settings_.files)
        if (auto done = read_file(path, sketching, pool); !done) return done;
    }
    pool.finish();
    tally_.rows = files_.count();
    return sketching.finish();
  }

  Result<> read_file(const std::string& path, Sketching& sketching, Ordered<table::TextRow, Looked>& pool) {
    table::ReadOptions options = settings_.read;
    options.spill = settings_.spill;
    return files_.add(
        path, options,
        [&](std::uint32_t number, const table::TextRow& row) -> Result<> {
          if (watch_.stop && watch_.stop()) return fail("interrupted");
          if (watch_.progress && number % 256 == 0) watch_.progress("audit", number, 0);
          auto text = std::make_shared<std::string>(text_of(row));
          if (settings_.between_rows)
            sketching.push([text, key = digest_of_hex(corpus::row_key(row.prompt, row.completion))]()
                               -> Result<Sketching::Prepared> { return Sketching::Prepared{key, *text}; });
          pool.push(row);
          return {};
        },
        [&](const RowError& error) {
          ++tally_.bad_rows;
          if (tally_.bad.size() < bad_rows_told) tally_.bad.push_back(describe(error));
        });
  }

  Looked look(const table::TextRow& row) const {
    Looked looked{corpus::row_key(row.prompt, row.completion), string_at(row.rest, "unit").value_or(""), {}};
    looked.leaks = row_leaks(row.prompt, row.completion, *benchmarks_, settings_.leak);
    return looked;
  }

  Result<> compare_rows() {
    if (!settings_.between_rows) return {};
    if (watch_.progress) watch_.progress("rows against rows", 0, 0);
    for (const auto& [sketch, rows] : rows_of_)
      for (std::size_t i = 1; i < rows.size(); ++i) flag_pair(rows[0], rows[i], 1);
    near::TextAt text = [this](std::uint32_t sketch) -> Result<std::string> {
      auto found = rows_of_.find(sketch);
      if (found == rows_of_.end()) return std::string();
      auto row = files_.at(found->second.front());
      if (!row) return std::unexpected(row.error());
      return text_of(*row);
    };
    near::JoinOptions options;
    options.threads = settings_.threads;
    options.memory_bytes = settings_.memory_bytes / 2;
    options.stop = watch_.stop;
    auto joined = near::join(sketches_->file(), text, options);
    if (!joined) return std::unexpected(joined.error());
    for (const near::Pair& pair : joined->pairs) {
      const std::uint32_t a = rows_of_.at(pair.a).front();
      const std::uint32_t b = rows_of_.at(pair.b).front();
      if (is_across(a, b) || !of_one_unit(a, b)) flag_pair(a, b, pair.jaccard);
    }
    return {};
  }

  bool is_across(std::uint32_t a, std::uint32_t b) const {
    return (a >= first_validation_) != (b >= first_validation_);
  }

  // Holes of one function have most of their words in common.
  bool of_one_unit(std::uint32_t a, std::uint32_t b) const {
    return !units_[a].empty() && units_[a] == units_[b];
  }

  void flag_pair(std::uint32_t a, std::uint32_t b, double jaccard) {
    for (auto [row, other] : {std::pair(a, b), std::pair(b, a)}) {
      corpus::Leak leak;
      const bool across = is_across(row, other);
      leak.relation = across ? "split" : "rows";
      leak.against = across ? (other >= first_validation_ ? "validation" : "train") : "rows of this set";
      leak.row = files_.name(other);
      leak.jaccard = jaccard;
      leaks_[row].push_back(std::move(leak));
    }
  }

  Result<> write() {
    for (std::uint32_t row = 0; row < leaks_.size(); ++row) {
      if (leaks_[row].empty()) continue;
      ++tally_.flagged;
      sort_leaks(leaks_[row]);
      add_found(tally_.benchmarks, leaks_[row]);
      std::set<std::string> relations;
      for (const corpus::Leak& leak : leaks_[row]) relations.insert(leak.relation);
      for (const std::string& relation : relations) ++tally_.relations[relation];
      tally_.flags.push_back({ids_[row], corpus::RowKind::fim, files_.name(row), std::move(leaks_[row])});
    }
    if (settings_.out.empty()) return {};
    std::error_code error;
    fs::create_directories(settings_.out, error);
    auto flags = JsonlWriter::create(settings_.out / "flags.jsonl");
    if (!flags) return std::unexpected(flags.error());
    for (const Flagged& flagged : tally_.flags) {
      boost::json::array leaks;
      for (const corpus::Leak& leak : flagged.leaks) leaks.push_back(corpus::to_json(leak));
      auto written =
          flags->write({{"id", flagged.id}, {"row", flagged.source}, {"leakage", std::move(leaks)}});
      if (!written) return written;
    }
    if (auto done = flags->finish(); !done) return done;
    auto review = Review::open((settings_.out / "review.csv").string());
    if (!review) return std::unexpected(review.error());
    return review->write(tally_.flags, settings_.out / "review.csv");
  }

  const AuditSettings& settings_;
  const Watch& watch_;
  AuditTally tally_;
  near::Parameters words_;
  std::optional<leak::Index> benchmarks_;
  std::optional<KeptSketches> sketches_;
  RowFiles files_;
  std::uint32_t first_validation_ = ~std::uint32_t{0};
  std::uint32_t placed_ = 0;
  std::map<std::uint32_t, std::vector<std::uint32_t>> rows_of_;  // by sketch
  std::vector<std::vector<corpus::Leak>> leaks_;                 // by row
  std::vector<std::string> ids_;
  std::vector<std::string> units_;
};

}  // namespace

Result<AuditTally> audit(const AuditSettings& settings, const Watch& watch) {
  return Audit(settings, watch).run();
}

}  // namespace kw::dataset
