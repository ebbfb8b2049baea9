// Human review: the labels of answers, and the file beside a run, a file or a data set that stores them, one
// JSON object per line, in the order in which they were given.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/core/words.h"

namespace kw {

// formats: the review label
BOOST_DEFINE_ENUM_CLASS(ReviewLabel, good, wrong_idiom, unreadable, suspicious, unsure, keep, drop)

// The labels that the page offers, in the order of its keys 1 to 5; keep and drop are a sheet's.
inline constexpr std::array page_labels = {ReviewLabel::good, ReviewLabel::wrong_idiom,
                                           ReviewLabel::unreadable, ReviewLabel::suspicious,
                                           ReviewLabel::unsure};

// Ignores case, and accepts '-' and ' ' for '_'.
std::optional<ReviewLabel> review_label(std::string_view word);

// good and keep accept an answer, unsure decides nothing, the others reject it.
std::optional<bool> accepts(ReviewLabel label);

// A label of one reviewer for one answer: a row of a sheet.
struct Review {
  std::string target;  // of a result of `score`; of a log: the row's key
  std::string reviewer;
  ReviewLabel label = ReviewLabel::good;
  std::string note;
  std::string at;  // as written
};

// The answer that a label of the log is about. `key` is the row's in a page; the others identify the answer
// in every other file: a data set's row by its id, any other by its task and its code.
struct ReviewedAnswer {
  std::string key;
  std::string task_id;
  std::string candidate_sha256;
  std::string row_id;
};

struct ReviewEntry {
  ReviewedAnswer answer;
  std::string reviewer;
  std::optional<ReviewLabel> label;  // none: the reviewer has withdrawn the label
  std::string note;
  std::string at;  // ISO 8601, UTC
};

// A drawn queue, so that a restarted review goes on with it although the run has grown.
struct ReviewQueue {
  std::size_t count = 0;
  std::uint64_t seed = 0;
  std::vector<std::string> keys;
  std::string at;
};

// A log as read: of each reviewer and answer the latest entry, without withdrawn ones.
struct ReviewLog {
  std::vector<ReviewEntry> entries;   // in the order of their latest lines
  std::vector<ReviewQueue> queues;    // in the order of the file
  std::vector<std::string> problems;  // "line 3: not a JSON object"; those lines are left out

  // The keys of that draw; null if it was never made.
  const ReviewQueue* queue(std::size_t count, std::uint64_t seed) const;
};

// The labels of a log by the answers that they are about.
class ReviewLabels {
 public:
  ReviewLabels() = default;
  explicit ReviewLabels(const ReviewLog& log);

  struct Found {
    ReviewLabel label = ReviewLabel::good;  // the latest of all reviewers
    std::size_t reviewers = 0;
  };
  std::optional<Found> of_answer(std::string_view task_id, std::string_view candidate_sha256) const;
  std::optional<Found> of_row(std::string_view row_id) const;
  bool empty() const { return answers_.empty() && rows_.empty(); }

 private:
  std::map<std::pair<std::string, std::string>, Found, std::less<>> answers_;
  std::map<std::string, Found, std::less<>> rows_;
};

// RUN/review.jsonl for a run folder, its run.db or the folder of a data set; FILE.review.jsonl for a file.
std::filesystem::path review_log_path(const std::filesystem::path& of);

// A missing file is an empty log. An error if it is no regular file, cannot be read or is over 256 MiB.
Result<ReviewLog> read_review_log(const std::filesystem::path& path);

// Appends one line and returns when it is on disk. Other processes may append at the same time; a line that a
// crash has cut off is ended first. After an error the file has its old length.
Result<> append_review(const std::filesystem::path& path, const ReviewEntry& entry);
Result<> append_queue(const std::filesystem::path& path, const ReviewQueue& queue);

}  // namespace kw
