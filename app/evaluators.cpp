#include "evaluators.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <cstdlib>

#include "base/files.h"
#include "base/utc_now.h"
#include "schema/json.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t max_file_bytes = std::size_t{1} << 20;

Result<json::object> read_all(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return json::object();
  auto text = read_text_file(file, max_file_bytes);
  if (!text) return std::unexpected(text.error());
  auto value = parse_json(*text);
  if (value && value->is_object()) return std::move(value->get_object());
  return fail(fmt::format("{} is no JSON object{}", file.string(), value ? "" : ": " + value.error().what),
              "correct it, or remove it and deploy again");
}

}  // namespace

Result<fs::path> evaluators_file() {
  const fs::path ours = fs::path("kernelwright") / "evaluators.json";
  // A relative path in it is to be ignored, says the specification of these folders.
  if (const char* folder = std::getenv("XDG_CONFIG_HOME"); folder != nullptr && folder[0] == '/')
    return fs::path(folder) / ours;
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return fs::path(home) / ".config" / ours;
  return fail("neither XDG_CONFIG_HOME nor HOME says where settings are kept", "set one of them");
}

Result<std::optional<KnownEvaluator>> find_evaluator(const fs::path& file, const std::string& name) {
  auto all = read_all(file);
  if (!all) return std::unexpected(all.error());
  const json::value* entry = all->if_contains(name);
  if (entry == nullptr || !entry->is_object()) return std::nullopt;
  auto url = string_at(entry->get_object(), "url");
  if (!url) return std::nullopt;
  return KnownEvaluator{*url, string_at(entry->get_object(), "made_at").value_or("")};
}

Result<> keep_evaluator(const fs::path& file, const std::string& name, const std::string& url) {
  auto all = read_all(file);
  if (!all) return std::unexpected(all.error());
  json::value& entry = (*all)[name];
  if (!entry.is_object()) entry = json::object();
  entry.get_object()["url"] = url;
  entry.get_object()["made_at"] = utc_now();
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error)
    return fail(fmt::format("cannot make the folder {}: {}", file.parent_path().string(), error.message()));
  return write_file(file, json::serialize(*all) + "\n");
}

}  // namespace kw::app
