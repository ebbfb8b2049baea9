#include "dataset/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/files.h"
#include "schema/json.h"

namespace kw::dataset {
namespace fs = std::filesystem;
namespace json = boost::json;
namespace {

fs::path list_file(const BuildSettings& settings) {
  return settings.state / "sources.json";
}

bool is_run(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return fs::exists(path / "run.db", error);
  return path.filename() == "run.db" || path.extension() == ".json";
}

void add(std::vector<std::string>& all, const std::string& path) {
  if (std::ranges::find(all, path) == all.end()) all.push_back(path);
}

std::vector<std::string> texts(const json::object& object, std::string_view key) {
  std::vector<std::string> values;
  const json::value* list = object.if_contains(key);
  if (list && list->is_array())
    for (const json::value& value : list->get_array())
      if (value.is_string()) values.emplace_back(value.get_string());
  return values;
}

Result<Sources> earlier(const BuildSettings& settings) {
  auto text = read_file(list_file(settings));
  if (!text)
    return fail(fmt::format("--add: there is no earlier build in {}", settings.out.string()),
                "leave --add out for the first one");
  auto value = parse_json(*text);
  if (!value || !value->is_object()) return fail(list_file(settings).string() + " is damaged");
  return Sources{texts(value->get_object(), "trees"), texts(value->get_object(), "runs")};
}

}  // namespace

Result<Sources> find_sources(const BuildSettings& settings) {
  Sources sources;
  if (settings.add) {
    auto before = earlier(settings);
    if (!before) return before;
    sources = std::move(*before);
  }
  std::error_code error;
  for (const std::string& path : settings.sources) {
    if (!fs::exists(path, error))
      return fail(fmt::format("{}: no such file or folder", path), "--pypi NAME fetches a package");
    std::string full = fs::absolute(path, error).lexically_normal().string();
    add(is_run(path) ? sources.runs : sources.trees, full);
  }
  if (!settings.packages.empty()) {
    fs::path folder = settings.state / "archives";
    fs::create_directories(folder, error);
    auto packages = fetch_packages(settings.python, settings.packages, settings.package_form, folder);
    if (!packages) return std::unexpected(packages.error());
    for (const FetchedPackage& package : *packages)
      add(sources.trees, fs::absolute(package.file, error).lexically_normal().string());
  }
  return sources;
}

Result<> remember(const Sources& sources, const BuildSettings& settings) {
  json::object object{{"trees", json::array(sources.trees.begin(), sources.trees.end())},
                      {"runs", json::array(sources.runs.begin(), sources.runs.end())}};
  return write_file(list_file(settings), json::serialize(object));
}

}  // namespace kw::dataset
