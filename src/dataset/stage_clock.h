#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "dataset/facts.h"

namespace kw::dataset {

// Notes how long a stage took when it ends.
class StageClock {
 public:
  StageClock(std::vector<Stage>& stages, std::string name)
      : stages_(stages), stage_{std::move(name), 0, 0, 0}, begin_(std::chrono::steady_clock::now()) {}
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;
  ~StageClock() {
    stage_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    stages_.push_back(stage_);
  }

  std::uint64_t& bytes() { return stage_.bytes; }
  std::uint64_t& items() { return stage_.items; }

 private:
  std::vector<Stage>& stages_;
  Stage stage_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace kw::dataset
