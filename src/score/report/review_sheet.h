// The sheet for human review: drawing its answers, writing it, and reading it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/core/words.h"
#include "types/review.h"

namespace kw::score {

// Common code of writing and reading a review sheet. Private to this folder.
BOOST_DEFINE_ENUM_CLASS(ReviewColumn, target, label, reviewer, note, at)
inline constexpr auto review_columns = enum_words<ReviewColumn>;

// A target as in a sheet: on one line, without terminal control characters, trimmed.
std::string shown_target(std::string_view target);

// An answer that can be reviewed.
struct ReviewTarget {
  std::string target;  // unique: a trace turn, a dataset row's id, a scored output's
  std::string status;  // with `source`: its stratum
  std::string source;
  std::string text;
  std::string language = "python";  // for Markdown
  std::string findings;             // of the automatic checks; only shown on request
};

struct Stratum {
  std::string status;
  std::string source;
  std::size_t size = 0;
  std::size_t drawn = 0;
};

struct Draw {
  std::vector<std::size_t> chosen;  // numbers of targets, in the random order of the sheet
  std::vector<Stratum> strata;      // by status and source
  std::uint64_t seed = 0;
};

// `count` of the targets without replacement: from each stratum in proportion to its size (largest
// remainders; Cochran 1977, Sampling Techniques, section 5.5), but one at least of each while `count` allows.
// The same targets in any order and the same seed give the same draw.
Draw draw(const std::vector<ReviewTarget>& targets, std::size_t count, std::uint64_t seed = 42);

struct SheetOptions {
  std::string title = "Review";
  bool show_findings = false;  // false: the reader judges blind
};

// Written completely or not at all. Texts are shortened to the size of a spreadsheet cell; a field that a
// spreadsheet would take for a formula gets a leading space.
Result<> write_review_csv(const std::vector<ReviewTarget>& targets, const Draw& draw,
                          const SheetOptions& options, const std::filesystem::path& path);
Result<> write_review_markdown(const std::vector<ReviewTarget>& targets, const Draw& draw,
                               const SheetOptions& options, const std::filesystem::path& path);

struct ReviewRead {
  std::vector<Review> reviews;
  std::size_t without_label = 0;
  // Omitted rows with the reason: "row 12: 'goood' is no label". The other rows are used.
  std::vector<std::string> problems;
};

// Reads either format, by the file's content. Accepts a byte order mark, ';' or tabs between fields, CRLF,
// blanks around words, other columns, another order of rows, and missing rows. `known` are the drawn
// targets; a row of another target is a problem. Empty: accepts any target. Error: no file, not UTF-8, or no
// columns target and label.
Result<ReviewRead> read_review(const std::filesystem::path& path, const std::vector<std::string>& known);
Result<ReviewRead> read_review_text(std::string_view text, const std::vector<std::string>& known);

// A later sheet's label replaces an earlier one of the same reviewer for the same target.
std::vector<Review> merged(std::vector<Review> earlier, const std::vector<Review>& later);

}  // namespace kw::score
