// Review desk: the queue of a human review, the labels that were given, and the storing of a label.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "types/review.h"
#include "view/edition.h"

namespace kw::view {

struct QueueRequest {
  std::string reviewer;  // empty: no labels
  std::size_t count = 100;
  std::uint64_t seed = 42;
};

// A label as the page sends it.
struct LabelRequest {
  std::string key;
  std::string reviewer;
  std::optional<ReviewLabel> label;  // none: withdrawn
  std::string note;
};

// Reads the body of POST /api/review. The error names the faulty field.
Result<LabelRequest> read_label(std::string_view body);

// The answer that a detail shows for review: of a trace the one of its best turn.
struct ShownAnswer {
  ReviewedAnswer answer;
  std::size_t round = 0;  // 0: not a turn
  std::size_t turn = 0;
};
Result<ShownAnswer> shown_answer(std::string_view detail);

// A page of several inputs puts "s2/" before the keys of the second, and so on. The log of an input has its
// keys as a page of that input alone has them.
class ReviewDesk {
 public:
  // The log of each input, by the index of the source.
  explicit ReviewDesk(std::vector<std::filesystem::path> logs) : logs_(std::move(logs)) {}

  // {"keys", "labels", "words", "reviewers", "agreement"}. The first request of a draw makes and stores it;
  // later ones get the same keys, without those that no longer exist.
  Result<boost::json::object> queue(const Edition& edition, const QueueRequest& request) const;

  // Returns when the label is on disk.
  Result<> store(const Edition& edition, const LabelRequest& request, const ReviewedAnswer& answer) const;

 private:
  const std::filesystem::path& log_of(std::size_t source) const;

  std::vector<std::filesystem::path> logs_;
};

}  // namespace kw::view
