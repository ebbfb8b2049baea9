#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <set>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "base/rows/helper_lines.h"
#include "report/forms/figures.h"

namespace kw::report {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

constexpr const char* figures_schema = "kernelwright.figures/1";
constexpr const char* list_name = "figures.json";
constexpr std::array endings{".svg", ".png", ".csv", ".txt"};

std::vector<std::string> files_of(const Figure& figure) {
  std::vector<std::string> files{figure.name + ".txt"};
  if (!figure.csv.empty()) files.push_back(figure.name + ".csv");
  if (!figure.description.empty()) files.insert(files.end(), {figure.name + ".svg", figure.name + ".png"});
  return files;
}

// A plain file name with one of our endings: a list that someone changed removes nothing else.
bool is_figure_file(std::string_view name) {
  bool is_plain = std::ranges::all_of(name, [](char c) { return is_word(c) || c == '.'; });
  bool has_ending = std::ranges::any_of(endings, [&](const char* ending) { return name.ends_with(ending); });
  return is_plain && has_ending && !name.starts_with('.');
}

// The files that an earlier report wrote into the folder, by its list.
Result<std::set<std::string>> earlier_files(const fs::path& folder) {
  std::set<std::string> files;
  std::error_code error;
  if (!fs::exists(folder / list_name, error)) return files;
  auto text = read_text_file(folder / list_name);
  auto list = text ? parse_json(*text) : Result<json::value>(std::unexpected(text.error()));
  if (!list || !list->is_object() || string_at(list->get_object(), "schema") != figures_schema)
    return fail(fmt::format("{} is not a list of figures of kernelwright", (folder / list_name).string()),
                "name another folder with --figures");
  const json::value* names = list->get_object().if_contains("files");
  if (!names || !names->is_array()) return files;
  for (const json::value& name : names->get_array())
    if (name.is_string() && is_figure_file(std::string_view(name.get_string())))
      files.emplace(name.get_string());
  return files;
}

Result<> check_folder(const fs::path& folder, const std::set<std::string>& ours,
                      const std::vector<std::string>& files) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder))
    return fail(fmt::format("cannot make the folder {}: {}", folder.string(),
                            error ? error.message() : "a file has this name"),
                "name another folder with --figures");
  for (const std::string& file : files)
    if (!ours.contains(file) && fs::exists(fs::symlink_status(folder / file, error)))
      return fail(
          fmt::format("{} exists, and is not a figure of an earlier report", (folder / file).string()),
          "name another folder with --figures, or move the file");
  return {};
}

}  // namespace

Result<WrittenFigures> write_figures(const std::vector<Figure>& figures, const fs::path& folder,
                                     const Drawer& drawer) {
  WrittenFigures written;
  std::vector<std::string> files;
  json::array descriptions;
  for (const Figure& figure : figures) {
    for (std::string& file : files_of(figure)) files.push_back(std::move(file));
    (figure.description.empty() ? written.not_drawn : written.drawn).push_back(figure.name);
    if (!figure.description.empty()) descriptions.push_back(figure.description);
  }
  auto ours = earlier_files(folder);
  if (!ours) return std::unexpected(ours.error());
  if (auto checked = check_folder(folder, *ours, files); !checked) return std::unexpected(checked.error());
  json::object list{{"schema", figures_schema},
                    {"files", json::array(files.begin(), files.end())},
                    {"figures", std::move(descriptions)}};
  if (auto done = write_file(folder / list_name, json::serialize(list) + "\n"); !done)
    return std::unexpected(done.error());
  std::error_code ignored;
  for (const std::string& file : *ours) fs::remove(folder / file, ignored);
  for (const Figure& figure : figures) {
    if (auto done = write_file(folder / (figure.name + ".txt"), figure.caption); !done)
      return std::unexpected(done.error());
    if (figure.csv.empty()) continue;
    if (auto done = write_file(folder / (figure.name + ".csv"), figure.csv); !done)
      return std::unexpected(done.error());
  }
  if (written.drawn.empty()) return written;
  auto lines = helper_lines(
      {drawer.python, "-I", drawer.script.string(), (folder / list_name).string(), folder.string()},
      process::HelperErrors::kept);
  if (!lines)
    return fail(fmt::format("{} (the data and captions are in {})", lines.error().what, folder.string()),
                lines.error().remedy);
  return written;
}

}  // namespace kw::report
