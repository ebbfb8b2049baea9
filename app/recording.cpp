#include "recording.h"

#include <fmt/format.h>

#include "base/core/files.h"
#include "session.h"
#include "verify/recording/recording.h"

namespace kw::app {
namespace {

Result<std::string> shown(const std::string& file) {
  auto bytes = read_file(file, recording::max_file_bytes);
  if (!bytes) return bytes;
  auto view = recording::View::of(*bytes);
  if (!view) return fail(fmt::format("{}: {}", file, view.error().what), view.error().remedy);
  return recording::shown(**view);
}

}  // namespace

void add_recording(CLI::App& app, RecordingOptions& options) {
  app.require_subcommand(1);
  app.add_subcommand("show", "Print a recording as text")
      ->add_option("FILE", options.file, "recording file (docs/recording.md)")
      ->required();
}

int show_recording(const RecordingOptions& options) {
  auto text = shown(options.file);
  if (!text) return failed(text.error());
  fmt::print("{}", *text);
  return 0;
}

}  // namespace kw::app
