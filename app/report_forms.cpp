#include "report_forms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "output/output_file.h"
#include "report/forms/figures.h"
#include "verify/workers/installation.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* drawing_script = "kernelwright/_figures/report.py";

Result<report::Drawer> find_drawer(const std::string& asked) {
  auto installation = engine::find_installation();
  if (!installation) return std::unexpected(installation.error());
  auto python = engine::find_python(asked, *installation);
  if (!python) return std::unexpected(python.error());
  for (const fs::path& folder : installation->python_path)
    if (fs::exists(folder / drawing_script))
      return report::Drawer{python->path.string(), folder / drawing_script};
  return fail(fmt::format("{} is missing from this installation", drawing_script),
              "install kernelwright again");
}

}  // namespace

Result<std::optional<report::Form>> form_of_output(const std::string& output) {
  if (output.empty() || fs::path(output).extension() == ".html") return std::nullopt;
  if (auto form = report::form_of(output)) return form;
  return fail(fmt::format("--output {}: the extension is none of .html, .md, .json, .csv", output));
}

Result<> write_form(report::Form form, const report::Index& index, const report::Overview& overview,
                    const std::string& output) {
  auto is_ours = [form](const fs::path& file) { return report::is_report(form, file); };
  if (auto ours = check_ours(output, "a report of kernelwright", is_ours); !ours) return ours;
  return report::write_report(form, index, overview, output);
}

Result<> write_figures(const report::Index& index, const report::Overview& overview,
                       const std::string& folder, const std::string& python, bool quiet) {
  auto drawer = find_drawer(python);
  if (!drawer) return std::unexpected(drawer.error());
  auto written = report::write_figures(report::figures_of(index, overview), folder, *drawer);
  if (!written) return std::unexpected(written.error());
  if (quiet) return {};
  fmt::print("figures  {}: {}\n", folder, fmt::join(written->drawn, ", "));
  if (!written->not_drawn.empty())
    fmt::print("not drawn: {} (the reasons are in {}/NAME.txt)\n", fmt::join(written->not_drawn, ", "),
               folder);
  return {};
}

}  // namespace kw::app
