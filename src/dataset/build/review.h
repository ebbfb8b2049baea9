// review.csv: flagged rows and reviewers' decisions.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace kw::dataset {

struct Flagged;

enum class Decision { none, keep, drop };

// A line of review.csv. A row with flags of several kinds has one line per kind. The line's key is id,
// relation and against; the other columns describe the strongest flag.
struct ReviewLine {
  enum Column {
    id,
    kind,
    source,
    relation,
    against,
    row,
    jaccard,
    containment,
    spans,  // "completion 0-120 300-420": bytes of that field
    decision,
    reviewer,
    note,
    at
  };
  static constexpr std::size_t columns = at + 1;

  std::array<std::string, columns> fields;
  std::vector<std::string> others;  // of columns that people added, in the order of Review's
};

class Review {
 public:
  // A missing file is an empty review. Only the columns id and decision are required; an unknown decision is
  // an error that names the line.
  static Result<Review> open(const std::string& path);

  // The decision on a row: drop if any of its lines says drop, else keep if any says keep.
  Decision decision(const std::string& id) const;

  // One line per kind of flag of each row, in the given order, with the reviewers' earlier text. Then the
  // earlier lines with reviewers' text whose flags no longer exist. Fields are not escaped for spreadsheets,
  // which read a leading '=', '+', '-' or '@' as a formula.
  Result<> write(const std::vector<Flagged>& flagged, const std::filesystem::path& path) const;

 private:
  Result<> read(const std::string& path);
  Result<> add(ReviewLine line, const std::string& where);

  std::vector<ReviewLine> lines_;
  std::vector<std::string> other_columns_;
  std::map<std::string, Decision> decisions_;
};

}  // namespace kw::dataset
