#include "report/model/reviews.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "base/core/words.h"
#include "types/review.h"

namespace kw::report {
namespace fs = std::filesystem;

void Reviews::add_log(fs::path log, std::string prefix) {
  logs_.push_back({std::move(log), std::move(prefix)});
}

std::string Reviews::stamps() const {
  std::string stamps;
  for (const Log& log : logs_) {
    struct stat facts{};
    if (::stat(log.path.c_str(), &facts) == 0)
      stamps += fmt::format("{} {} {}.{}", facts.st_ino, facts.st_size, facts.st_mtim.tv_sec,
                            facts.st_mtim.tv_nsec);
    stamps += '\n';
  }
  return stamps;
}

void Reviews::take(const ReviewLog& log, const std::string& prefix) {
  for (const ReviewEntry& entry : log.entries) {
    RowReview& review = by_key_[prefix + entry.answer.key];
    review.label = to_string(*entry.label);
    review.reviewers.insert(entry.reviewer);
  }
}

bool Reviews::read(const Problem& problem) {
  std::string now = stamps();
  if (now == stamps_) return false;
  stamps_ = std::move(now);
  by_key_.clear();
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    auto log = read_review_log(logs_[i].path);
    if (!log) {
      if (problem) problem(i, log.error().what);
      continue;
    }
    for (const std::string& each : log->problems)
      if (problem) problem(i, fmt::format("{}: {}", logs_[i].path.filename().string(), each));
    take(*log, logs_[i].prefix);
  }
  return true;
}

}  // namespace kw::report
