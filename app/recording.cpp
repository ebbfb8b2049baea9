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
  CLI::App* show = app.add_subcommand("show", "Print a recording as text");
  show->add_option("FILE", options.file, "recording file (docs/recording.md)")->required();
  show->add_option("--output,-o", options.output, "file for the text [standard output]")->type_name("F");
}

int show_recording(const RecordingOptions& options) {
  auto text = shown(options.file);
  if (!text) return failed(text.error());
  if (options.output.empty()) {
    fmt::print("{}", *text);
    return 0;
  }
  auto written = write_file(options.output, *text);
  return written ? 0 : failed(written.error());
}

}  // namespace kw::app
