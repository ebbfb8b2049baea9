#include "report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/display.h"
#include "base/core/text.h"
#include "base/core/words.h"
#include "judged_sources.h"
#include "output/output_file.h"
#include "report/forms/figures.h"
#include "report/forms/form_files.h"
#include "report/forms/markdown.h"
#include "report/model/model.h"
#include "report/page/page.h"
#include "report/summary/overview.h"
#include "session.h"
#include "verifier_source.h"
#include "verify/workers/installation.h"
#include "version.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

// The time of the report; SOURCE_DATE_EPOCH sets it, so that equal inputs give equal bytes.
Result<std::string> report_time() {
  const char* given = std::getenv("SOURCE_DATE_EPOCH");
  if (given == nullptr || *given == '\0') return utc_now();
  constexpr std::uint64_t most_seconds = 253'402'300'799;  // of the year 9999
  auto seconds = parse_whole(given, 0, most_seconds);
  if (!seconds) return fail(fmt::format("SOURCE_DATE_EPOCH: {}", seconds.error().what));
  return utc_text(static_cast<std::time_t>(*seconds));
}

Result<report::ModelOptions> model_options(const ReportFlags& flags) {
  auto time = report_time();
  if (!time) return std::unexpected(time.error());
  report::ModelOptions options{.redact = flags.redact,
                               .include_restricted = flags.include_restricted,
                               .parquet = parquet_helper(flags.python),
                               .program_version = kw_version,
                               .made_at = std::move(*time)};
  if (flags.input.empty()) return options;
  auto read = read_judged_sources(flags.input, [](const std::string&) { return true; });
  if (!read) return std::unexpected(read.error());
  auto sources = std::make_shared<const JudgedSources>(std::move(*read));
  options.code_of = [sources](const std::string& sha256) {
    const JudgedSource* found = find_source(*sources, sha256);
    return found ? report::JudgedCode{found->reference, found->candidate} : report::JudgedCode{};
  };
  return options;
}

constexpr std::string_view page_extension = ".html";

Result<> check_report_output(const ReportFlags& flags) {
  if (flags.output.empty()) return {};
  fs::path output(flags.output);
  if (output.extension() != page_extension && !report::form_of(output))
    return fail(fmt::format("--output {}: the extension is not .html, .md, .json or .csv", flags.output));
  return {};
}

// An earlier report is replaced, and no other file.
Result<> check_report_files(const ReportFlags& flags) {
  if (flags.output.empty()) return {};
  fs::path output(flags.output);
  if (auto form = report::form_of(output))
    return check_ours(output, "a report of kernelwright",
                      [&](const fs::path& file) { return report::is_report(*form, file); });
  if (auto ours = check_ours(output, "a report of kernelwright", report::is_page); !ours) return ours;
  return check_ours(report::data_file_of(output), "the data file of a report", report::is_data_file);
}

// The interpreter and the script that draw figures.
Result<report::Drawer> drawer(const std::string& chosen_python) {
  auto installation = engine::find_installation();
  if (!installation) return std::unexpected(installation.error());
  auto python = engine::find_python(chosen_python, *installation);
  if (!python) return std::unexpected(python.error());
  for (const fs::path& folder : installation->python_path)
    if (fs::path script = folder / "kernelwright/_figures/report.py"; fs::exists(script))
      return report::Drawer{python->path.string(), script};
  return fail("kernelwright/_figures/report.py is not installed", "install the program again");
}

// The message, after the name of its source where it has none.
std::string with_name(const std::string& name, const std::string& message) {
  return visible_line(message.contains(name) ? message : name + ": " + message);
}

// What could not be read goes to standard error; false if there is any.
bool tell_damage(const report::Index& index) {
  bool is_whole = true;
  for (const report::SourceFacts& source : index.sources) {
    if (source.state == report::SourceState::damaged) is_whole = false;
    for (const std::string& message : source.messages)
      fmt::print(stderr, "{}: {}\n", source.state == report::SourceState::damaged ? "error" : "note",
                 with_name(source.name, message));
  }
  return is_whole;
}

bool has_anything(const report::Index& index) {
  return index.rows.count > 0 || std::ranges::any_of(index.sources, [](const report::SourceFacts& source) {
           return source.state != report::SourceState::damaged;
         });
}

// What was written, and the overview that it contains.
struct Told {
  std::vector<std::string> files;
  std::vector<std::string> not_drawn;  // figures of what was not measured
  report::Overview overview;
};

Result<> write_html(report::Model& model, const ReportFlags& flags, Told& told) {
  auto summary = [&](const report::Index& index) {
    told.overview = report::overview_of(index);
    return report::to_json(told.overview);
  };
  auto page = report::write_page(
      model, {.output = flags.output, .split_bytes = flags.split_bytes, .summary = summary});
  if (!page) return std::unexpected(page.error());
  told.files.push_back(flags.output);
  if (!page->data_file.empty()) told.files.push_back(page->data_file.string());
  return {};
}

Result<> write_figures(const report::Model& model, const ReportFlags& flags, Told& told) {
  auto by = drawer(flags.python);
  if (!by) return std::unexpected(by.error());
  auto written = report::write_figures(report::figures_of(model.index(), told.overview), flags.figures, *by);
  if (!written) return std::unexpected(written.error());
  told.files.push_back(flags.figures);
  told.not_drawn = std::move(written->not_drawn);
  return {};
}

Result<Told> write_files(report::Model& model, const ReportFlags& flags) {
  Told told;
  fs::path output(flags.output);
  if (output.extension() == page_extension) {
    if (auto written = write_html(model, flags, told); !written) return std::unexpected(written.error());
  } else {
    if (auto read = model.read(); !read) return std::unexpected(read.error());
    told.overview = report::overview_of(model.index());
  }
  if (auto form = report::form_of(output)) {
    auto written = report::write_report(*form, model.index(), told.overview, output);
    if (!written) return std::unexpected(written.error());
    told.files.push_back(flags.output);
  }
  if (!flags.figures.empty())
    if (auto written = write_figures(model, flags, told); !written) return std::unexpected(written.error());
  return told;
}

void say(const report::Index& index, const Told& told) {
  fmt::print("{}", report::terminal_summary(index, told.overview, style_of(STDOUT_FILENO)));
  for (const std::string& file : told.files) fmt::print("report   {}\n", file);
  if (!told.not_drawn.empty())
    fmt::print("not drawn: {} (NAME.txt says why)\n", fmt::join(told.not_drawn, ", "));
}

}  // namespace

int report(const ReportFlags& flags) {
  if (auto good = check_report_output(flags); !good) {
    complain(good.error());
    return exit_usage;
  }
  auto options = model_options(flags);
  if (!options) return failed(options.error());
  report::Model model(flags.paths, std::move(*options));
  if (!has_anything(model.index())) {
    tell_damage(model.index());
    return 1;
  }
  if (auto may = check_report_files(flags); !may) return failed(may.error());
  auto told = write_files(model, flags);
  if (!told) return failed(told.error());
  if (!flags.quiet) say(model.index(), *told);
  return tell_damage(model.index()) ? 0 : 1;
}

}  // namespace kw::app
