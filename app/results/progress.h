// How far a run is: a bar on a terminal, a plain line for each candidate elsewhere. On standard error.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace kw {

// "[#####-----]  5/10  61/min  0:05 left"; without a total, neither bar nor time left. Work that an earlier
// run did (skipped) is not part of the rate.
std::string progress_bar(std::size_t done, std::optional<std::size_t> total, std::size_t skipped,
                         double seconds);

class Progress {
 public:
  struct Options {
    std::FILE* out = stderr;
    bool terminal = false;
    bool quiet = false;
  };

  Progress(Options options, std::optional<std::size_t> total) : options_(options), total_(total) {}

  // Another one is done; seconds is the time since the run began.
  void done(std::string_view id, std::string_view words, double seconds);
  // An earlier run did it.
  void skipped() { ++done_, ++skipped_; }
  // A message of its own line, kept clear of the bar.
  void say(std::string_view line);
  // Draws the bar again: on a terminal, call it every second or so.
  void tick(double seconds);
  // Removes the bar.
  void finish();

 private:
  void clear();

  Options options_;
  std::optional<std::size_t> total_;
  std::size_t done_ = 0;
  std::size_t skipped_ = 0;
  bool drawn_ = false;
};

}  // namespace kw
