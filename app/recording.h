// `kernelwright recording`: what the recorder wrote down of a call.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kw::app {

struct RecordingOptions {
  std::string file;
};

void add_recording(CLI::App& app, RecordingOptions& options);

// Shows it. 0, or 1 with an error said: no such file, or one that is no recording or a broken one.
int show_recording(const RecordingOptions& options);

}  // namespace kw::app
