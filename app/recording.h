// `kernelwright recording`: prints recordings of calls.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kw::app {

struct RecordingOptions {
  std::string file;
  std::string output;  // empty: standard output
};

void add_recording(CLI::App& app, RecordingOptions& options);

// Prints the recording and returns 0. Prints an error and returns 1 if the file is missing, is not a
// recording, or is damaged.
int show_recording(const RecordingOptions& options);

}  // namespace kw::app
