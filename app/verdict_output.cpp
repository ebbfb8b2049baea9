#include "verdict_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/core/display.h"
#include "base/core/files.h"
#include "base/core/text.h"
#include "verify/explain/github.h"
#include "verify/explain/sarif.h"
#include "version.h"

namespace kw::app {
namespace {

Result<> append_summary(const std::string& text) {
  const char* path = std::getenv("GITHUB_STEP_SUMMARY");
  if (!path || *path == '\0') return {};
  Fd file(::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (file && write_all(file.get(), text)) return {};
  return fail(fmt::format("cannot write the job summary {}: {}", path, errno_text(errno)),
              "unset GITHUB_STEP_SUMMARY, or free some space");
}

// A file of JSON lines counts its rows as an editor counts lines.
bool has_lines(const std::string& file) {
  return file.ends_with(".jsonl") || file.ends_with(".ndjson");
}

}  // namespace

VerdictOutput::VerdictOutput(const VerdictTableFlags& flags)
    : form_(flags.format),
      table_({style_of(STDOUT_FILENO), flags.only, flags.show_output}),
      findings_(explain::most_sarif_results) {
  std::error_code ignored;
  working_directory_ = std::filesystem::current_path(ignored);
}

void VerdictOutput::add(const ResultRow& row, const Verdict& verdict, const explain::Sources& sources,
                        const explain::Origins& origins) {
  if (form_ == VerdictForm::table) return table_.add(row, verdict, sources);
  if (explain::level_of(verdict.status, verdict.counts) == explain::Level::none) return findings_.add_right();
  explain::Finding finding = explain::finding_of(verdict, sources, origins, row.speedup, working_directory_);
  finding.position = row.position;
  findings_.add(std::move(finding));
}

void VerdictOutput::add(const RowError& error) {
  if (form_ == VerdictForm::table) return;
  std::optional<explain::Place> place;
  if (!error.file.empty() && error.file != "-") {
    place = explain::place_of(error.file, working_directory_);
    if (has_lines(error.file)) place->line = error.row;
  }
  findings_.add_bad_row(describe(error), std::move(place));
}

Result<> VerdictOutput::print(bool is_complete) const {
  switch (form_) {
    case VerdictForm::table:
      fmt::print("{}", for_log(table_.text()));
      return {};
    case VerdictForm::sarif:
      fmt::print("{}", explain::to_sarif(findings_, {kw_version, is_complete}));
      return {};
    case VerdictForm::github:
      fmt::print("{}", explain::to_annotations(findings_));
      return append_summary(explain::to_job_summary(findings_));
  }
  return {};
}

}  // namespace kw::app
