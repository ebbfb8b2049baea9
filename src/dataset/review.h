// review.csv: what was flagged, and what people decided about it.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::dataset {

struct Flagged;

enum class Decision { none, keep, drop };

// A line of review.csv. A row with flags of several kinds has a line for each: id, relation and against are
// the line's key, and the rest says what is flagged most there.
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
  // A missing file is an empty review. Only the columns id and decision must be there; a word that is no
  // decision is an error that names the line.
  static Result<Review> open(const std::string& path);

  // What was decided about a row: drop, if any of its lines says so, else keep, if any does.
  Decision decision(const std::string& id) const;

  // A line for each kind of flag a row has now, in the order given, with what people wrote about it before.
  // Behind them come the earlier lines that people wrote something in and whose flags are gone. Fields are
  // not changed for spreadsheets, in which one that begins with '=', '+', '-' or '@' is a formula.
  Result<> write(const std::vector<Flagged>& flagged, const std::filesystem::path& path) const;

 private:
  Result<> read(const std::string& path);
  Result<> add(ReviewLine line, const std::string& where);

  std::vector<ReviewLine> lines_;
  std::vector<std::string> other_columns_;
  std::map<std::string, Decision> decisions_;
};

}  // namespace kw::dataset
