#include "dataset/build/dedup.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

#include "dataset/build/build_summary.h"
#include "dataset/build/jsonl.h"
#include "dataset/build/renamed_rows.h"
#include "dataset/build/row_files.h"
#include "dataset/build/sketches.h"
#include "dataset/units/row.h"

namespace kw::dataset {
namespace {

namespace fs = std::filesystem;
constexpr std::uint32_t none = ~std::uint32_t{0};

class Dedup {
 public:
  Dedup(const DedupSettings& settings, const Watch& watch) : settings_(settings), watch_(watch) {}

  Result<DedupTally> run() {
    fs::path folder = settings_.index.empty() ? settings_.spill : settings_.index;
    auto sketches = KeptSketches::open(folder / "sketches", settings_.near);
    if (!sketches) return std::unexpected(sketches.error());
    if (auto read = read_all(*sketches); !read) return std::unexpected(read.error());
    if (settings_.near_too) drop_renamed();
    if (settings_.near_too)
      if (auto found = find_near(*sketches); !found) return std::unexpected(found.error());
    if (auto written = write(); !written) return std::unexpected(written.error());
    return std::move(tally_);
  }

 private:
  bool is_against(std::uint32_t row) const { return row < first_own_; }

  // Rows of `against` come first, so that their texts are kept.
  Result<> read_all(KeptSketches& sketches) {
    StageClock clock(tally_.stages, "read and sketch");
    Sketching sketching(sketches, settings_.threads,
                        [this](std::uint32_t number, bool is_first) { place(number, is_first); });
    for (bool own : {false, true}) {
      if (own) first_own_ = files_.count();
      for (const std::string& path : own ? settings_.files : settings_.against)
        if (auto read = read_file(path, sketching); !read) return read;
    }
    if (auto done = sketching.finish(); !done) return done;
    tally_.rows = files_.count() - first_own_;
    tally_.rows_against = first_own_;
    tally_.bytes = clock.bytes() = sketching.bytes();
    tally_.sketched_bytes = sketching.sketched_bytes();
    clock.items() = files_.count();
    return {};
  }

  Result<> read_file(const std::string& path, Sketching& sketching) {
    table::ReadOptions options = settings_.read;
    options.spill = settings_.spill;
    return files_.add(
        path, options,
        [&](std::uint32_t number, table::TextRow row) -> Result<> {
          if (number % 1'024 == 0) {
            if (watch_.stop && watch_.stop()) return fail("interrupted");
            if (watch_.progress) watch_.progress("read", number, 0);
          }
          auto shared = std::make_shared<table::TextRow>(std::move(row));
          std::string& renamed = renamed_.emplace_back();
          sketching.push([shared, &renamed, near = settings_.near_too]() -> Result<Sketching::Prepared> {
            if (near) renamed = renamed_key(*shared);
            return Sketching::Prepared{digest_of_hex(corpus::row_key(shared->prompt, shared->completion)),
                                       text_of(*shared)};
          });
          return {};
        },
        [&](const RowError& error) {
          ++tally_.bad_rows;
          if (tally_.bad.size() < bad_rows_told) tally_.bad.push_back(describe(error));
        });
  }

  // Called in the order of the rows.
  void place(std::uint32_t sketch, bool is_first) {
    auto row = static_cast<std::uint32_t>(sketch_of_.size());
    sketch_of_.push_back(sketch);
    if (row_of_.size() <= sketch)
      row_of_.resize(std::max<std::size_t>(sketch + std::size_t{1}, row_of_.size() * 3 / 2), none);
    if (is_first) {
      row_of_[sketch] = row;
      return;
    }
    std::uint32_t kept = row_of_[sketch];
    // Does not report a row of `against` that equals another one of `against`.
    if (row >= first_own_ || !is_against(kept)) dropped_.push_back({row, kept, 1, 1, true});
  }

  // A dropped row takes no part in the search for near duplicates: its sketch has no row.
  void drop_renamed() {
    std::unordered_map<std::string_view, std::uint32_t> best;
    for (std::uint32_t row = 0; row < renamed_.size(); ++row) {
      if (renamed_[row].empty() || row_of_[sketch_of_[row]] != row) continue;
      auto [found, is_new] = best.try_emplace(renamed_[row], row);
      if (is_new) continue;
      std::uint32_t dropped = row;
      if (better(row, found->second)) std::swap(dropped, found->second);
      dropped_.push_back({.row = dropped, .kept = found->second, .renamed = true});
      row_of_[sketch_of_[dropped]] = none;
    }
  }

  Result<> find_near(const KeptSketches& sketches) {
    StageClock clock(tally_.stages, "near duplicates");
    if (watch_.progress) watch_.progress("near duplicates", 0, 0);
    near::TextAt text = [this](std::uint32_t number) -> Result<std::string> {
      if (number >= row_of_.size() || row_of_[number] == none) return std::string();
      auto row = files_.at(row_of_[number]);
      if (!row) return std::unexpected(row.error());
      return text_of(*row);
    };
    near::JoinOptions options;
    options.threads = settings_.threads;
    options.memory_bytes = settings_.memory_bytes / 2;
    options.stop = watch_.stop;
    auto joined = near::join(sketches.file(), text, options);
    if (!joined) return std::unexpected(joined.error());
    tally_.join = joined->tally;
    clock.items() = joined->tally.verified;
    // Omits sketches that only an earlier use of the index had.
    auto is_ours = [this](std::uint32_t sketch) {
      return sketch < row_of_.size() && row_of_[sketch] != none;
    };
    std::erase_if(joined->pairs,
                  [&](const near::Pair& pair) { return !is_ours(pair.a) || !is_ours(pair.b); });
    for (near::Pair& pair : joined->pairs) {
      pair.a = row_of_[pair.a];
      pair.b = row_of_[pair.b];
    }
    auto chosen = choose_rows(
        files_, joined->pairs, settings_.near, [this](auto a, auto b) { return better(a, b); },
        [this](std::uint32_t row) { return is_against(row); });
    if (!chosen) return std::unexpected(chosen.error());
    tally_.near = chosen->size();
    dropped_.insert(dropped_.end(), chosen->begin(), chosen->end());
    return {};
  }

  bool better(std::uint32_t a, std::uint32_t b) const {
    if (is_against(a) != is_against(b)) return is_against(a);
    if (settings_.keep == Keep::longest) {
      auto x = files_.raw(a);
      auto y = files_.raw(b);
      if (x && y && x->size() != y->size()) return x->size() > y->size();
    }
    return a < b;
  }

  // A duplicate of a row that was dropped points to the row that is kept for that one.
  void settle() {
    std::ranges::sort(dropped_, {}, &DroppedRow::row);
    std::set<std::uint32_t> clusters;
    for (DroppedRow& each : dropped_) {
      for (auto other = std::ranges::lower_bound(dropped_, each.kept, {}, &DroppedRow::row);
           (each.exact || each.renamed) && other != dropped_.end() && other->row == each.kept;
           other = std::ranges::lower_bound(dropped_, each.kept, {}, &DroppedRow::row))
        each.kept = other->kept;
      if (each.exact && each.row >= first_own_) ++tally_.exact;
      if (each.renamed && each.row >= first_own_) ++tally_.renamed;
      clusters.insert(each.kept);
    }
    std::erase_if(dropped_, [this](const DroppedRow& each) { return is_against(each.row); });
    tally_.clusters = clusters.size();
    tally_.kept = tally_.rows - dropped_.size();
  }

  Result<> write() {
    StageClock clock(tally_.stages, "write");
    settle();
    auto evidence = JsonlWriter::create(settings_.evidence);
    if (!evidence) return std::unexpected(evidence.error());
    for (const DroppedRow& each : dropped_) {
      auto written = evidence->write({{"row", files_.name(each.row)},
                                      {"duplicate_of", files_.name(each.kept)},
                                      {"how", each.exact     ? "exact"
                                              : each.renamed ? "renamed"
                                                             : "near"},
                                      {"jaccard", each.jaccard},
                                      {"completion_jaccard", each.completion_jaccard}});
      if (!written) return written;
    }
    auto at = dropped_.begin();
    std::uint32_t next = first_own_;
    auto copied = copy_rows(
        files_,
        [&]() -> std::optional<std::uint32_t> {
          for (; next < files_.count() && at != dropped_.end() && at->row == next; ++next) ++at;
          return next < files_.count() ? std::optional(next++) : std::nullopt;
        },
        {settings_.out, settings_.spill, settings_.python, settings_.read.prompt, settings_.read.completion});
    if (!copied) return copied;
    return evidence->finish();
  }

  const DedupSettings& settings_;
  const Watch& watch_;
  DedupTally tally_;
  RowFiles files_;
  std::uint32_t first_own_ = none;        // earlier rows are of `against`
  std::vector<std::uint32_t> sketch_of_;  // by row
  std::vector<std::uint32_t> row_of_;     // by sketch: the first row that has it
  std::deque<std::string> renamed_;       // by row; its strings stay in place while others are added
  std::vector<DroppedRow> dropped_;
};

}  // namespace

Result<DedupTally> dedup(const DedupSettings& settings, const Watch& watch) {
  return Dedup(settings, watch).run();
}

}  // namespace kw::dataset
