#include "tasks/hub.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "process/helper.h"
#include "schema/json.h"
#include "table/line_reader.h"

namespace kw {
namespace json = boost::json;
namespace {

// The helper's own words, where it said why it failed.
Error error_in(const json::object& answer) {
  const json::value* error = answer.if_contains("error");
  if (!error || !error->is_object()) return {"the hub's helper gave an answer that is none", ""};
  return {string_at(error->get_object(), "what").value_or("the hub's helper failed"),
          string_at(error->get_object(), "remedy").value_or("")};
}

Result<std::vector<std::string>> read_answer(LineReader lines) {
  std::vector<std::string> files;
  while (true) {
    auto line = lines.next();
    if (!line) return std::unexpected(line.error());
    if (!*line) return files;
    auto value = parse_json((*line)->text);
    if (!value || !value->is_object()) return std::unexpected(error_in({}));
    const json::object& answer = value->get_object();
    if (auto file = string_at(answer, "file"))
      files.push_back(*file);
    else if (!answer.contains("repo"))
      return std::unexpected(error_in(answer));
  }
}

}  // namespace

std::optional<std::string> hub_revision(std::string_view text) {
  if (text == "hub") return "";
  if (text.starts_with("hub@")) return std::string(text.substr(4));
  return {};
}

Result<std::vector<std::string>> hub_files(const HubRequest& request, const ParquetHelper& helper) {
  if (helper.python.empty())
    return fail("no Python was found that could reach the hub",
                fmt::format("name one with --python, or give a copy with --{}", request.name));
  std::string script = (std::filesystem::path(helper.script).parent_path() / "hub.py").string();
  std::vector<std::string> argv{helper.python, "-I", script, request.name};
  if (!request.revision.empty()) argv.insert(argv.end(), {"--revision", request.revision});
  if (!request.levels.empty())
    argv.insert(argv.end(), {"--levels", fmt::format("{}", fmt::join(request.levels, ","))});
  auto started = process::start_helper(argv, process::HelperErrors::shown);
  if (!started) return std::unexpected(started.error());
  auto& [child, out] = *started;
  auto files = read_answer(LineReader(std::move(out), script));
  if (!files) return files;
  if (auto end = child.finish(); !end) return std::unexpected(end.error());
  if (files->empty()) return fail("the hub's helper named no files");
  return files;
}

}  // namespace kw
