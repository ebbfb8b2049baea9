// Output of `train`: row counts, memory estimate, and progress.
#pragma once

#include <chrono>
#include <string>

#include "base/core/display.h"
#include "train/job/events.h"

namespace kw::app {

// "5.4 GiB"
std::string in_gib(double bytes);

std::string in_words(const training::DataFacts& facts);
std::string in_words(const training::ValidationFacts& facts);
std::string in_words(const training::HeldOutLoss& measured);
std::string in_words(const training::Estimate& estimate);
// "warning: ...", in red where the terminal has colours, and its remedy.
std::string in_words(const training::Warning& warning, const Style& style);
// "[####----]  12/200  loss 1.234  1,988 tokens/s  7.3 GiB  0:42 left"
std::string in_words(const training::Step& step);

class TrainView {
 public:
  struct Options {
    bool terminal = false;
    bool quiet = false;
    bool json = false;  // events on standard output
    bool dry_run = false;
  };

  explicit TrainView(Options options) : options_(options) {}

  void told(const training::Told& told);
  void say(const std::string& line);
  // Removes the line of progress, if there is one.
  void finish();

 private:
  void show(const training::Event& event);
  void step(const training::Step& step);

  Options options_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace kw::app
