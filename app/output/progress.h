// Progress of a run on standard error: a bar on a terminal, else a line per candidate.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace kw {

// "[#####-----]  5/10  61/min  0:05 left". Without a total it has no bar and no time left. The rate excludes
// skipped candidates, which an earlier run judged.
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

  // Counts a judged candidate; `seconds` is the time since the start of the run.
  void done(std::string_view id, std::string_view words, double seconds);
  // Counts a candidate that an earlier run judged.
  void skipped() { ++done_, ++skipped_; }
  // Prints a message on a separate line above the bar.
  void say(std::string_view line);
  // Redraws the bar; call it about every second on a terminal.
  void tick(double seconds);
  // Removes the bar.
  void finish();

  // Names a wait before the work, such as a start. From about its second second on, `tick` shows the name:
  // once on a line, or with the elapsed seconds on a terminal. An empty name ends the wait.
  void wait_for(std::string name);

 private:
  void clear();
  void show_wait();

  Options options_;
  std::optional<std::size_t> total_;
  std::size_t done_ = 0;
  std::size_t skipped_ = 0;
  bool drawn_ = false;
  std::string waits_for_;
  std::chrono::steady_clock::time_point wait_began_;
  bool wait_is_said_ = false;
};

}  // namespace kw
