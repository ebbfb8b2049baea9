// The labels of human reviews, from the logs beside the sources (types/review.h).
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace kw {
struct ReviewLog;
}

namespace kw::report {

struct RowReview {
  std::string label;  // the latest
  std::set<std::string> reviewers;
};

class Reviews {
 public:
  // A log has the keys of its source without the prefix that the source has in this report.
  void add_log(std::filesystem::path log, std::string prefix);

  // Called with the number of the log and a message about a part that could not be read.
  using Problem = std::function<void(std::size_t log, const std::string& message)>;
  // Reads all logs if one has changed since the last time; true then.
  bool read(const Problem& problem = {});

  const std::map<std::string, RowReview>& by_key() const { return by_key_; }

 private:
  struct Log {
    std::filesystem::path path;
    std::string prefix;
  };
  std::string stamps() const;
  void take(const ReviewLog& log, const std::string& prefix);

  std::vector<Log> logs_;
  std::string stamps_;
  std::map<std::string, RowReview> by_key_;
};

}  // namespace kw::report
