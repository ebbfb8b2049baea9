// The sheet that a person fills in: which answers are drawn for it, how it is written and read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::score {

// formats: the review label
enum class ReviewLabel { good, wrong_idiom, unreadable, suspicious, keep, drop };

std::string_view to_string(ReviewLabel label);
// Small and capital letters, '-' and ' ' for '_' are forgiven.
std::optional<ReviewLabel> review_label(std::string_view word);

// good and keep say that an answer is as it should be; the others say that it is not.
bool is_favourable(ReviewLabel label);

// Something that could be read by a person.
struct ReviewTarget {
  std::string target;  // unique: a trace turn, a dataset row's id, a scored output's
  std::string status;  // with `source`: its stratum
  std::string source;
  std::string text;
  std::string language = "python";  // for Markdown
  std::string findings;             // what the automatic checks say; only shown on request
};

struct Stratum {
  std::string status;
  std::string source;
  std::size_t size = 0;
  std::size_t drawn = 0;
};

struct Draw {
  std::vector<std::size_t>
      chosen;  // numbers of targets, in the order of the sheet: mixed, so that it tells nothing
  std::vector<Stratum> strata;  // by status and source
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

// Written whole or not at all. Texts are shortened to what a spreadsheet's cell holds; a field that one would
// take for a formula gets a space in front.
Result<> write_review_csv(const std::vector<ReviewTarget>& targets, const Draw& draw,
                          const SheetOptions& options, const std::filesystem::path& path);
Result<> write_review_markdown(const std::vector<ReviewTarget>& targets, const Draw& draw,
                               const SheetOptions& options, const std::filesystem::path& path);

struct Review {
  std::string target;
  std::string reviewer;
  ReviewLabel label = ReviewLabel::good;
  std::string note;
  std::string at;  // as written
};

struct ReviewRead {
  std::vector<Review> reviews;
  std::size_t without_label = 0;
  // Rows that were left out, each named: "row 12: 'goood' is no label". The others stand.
  std::vector<std::string> problems;
};

// Either format, by what the file holds. Forgiven: a byte order mark, ';' or tabs between fields, CRLF,
// blanks around words, other columns, rows in another order, rows that are gone. `known`: targets of the
// draw; a row of another target is a problem. Empty: any will do. Error: no file, no UTF-8, no columns target
// and label.
Result<ReviewRead> read_review(const std::filesystem::path& path, const std::vector<std::string>& known);
Result<ReviewRead> read_review_text(std::string_view text, const std::vector<std::string>& known);

// A later sheet's word of the same reviewer on the same target takes the place of an earlier one's.
std::vector<Review> merged(std::vector<Review> earlier, const std::vector<Review>& later);

}  // namespace kw::score
