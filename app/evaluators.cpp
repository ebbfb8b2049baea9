#include "evaluators.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <cstdlib>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "base/http/url.h"

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
  return fail(fmt::format("{} is not a JSON object{}", file.string(), value ? "" : ": " + value.error().what),
              "correct it, or remove it and deploy again");
}

}  // namespace

Result<fs::path> evaluators_file() {
  const fs::path ours = fs::path("kernelwright") / "evaluators.json";
  // The XDG specification requires that a relative path is ignored.
  if (const char* folder = std::getenv("XDG_CONFIG_HOME"); folder != nullptr && folder[0] == '/')
    return fs::path(folder) / ours;
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return fs::path(home) / ".config" / ours;
  return fail("neither XDG_CONFIG_HOME nor HOME is set", "set one of them: they locate the settings");
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

namespace {

constexpr const char* key_variable = "KERNELWRIGHT_EVALUATOR_KEY";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::string(trim(value)) : "";
}

bool is_at_modal(const std::string& where, const std::string& url) {
  if (where == "modal") return true;
  auto parsed = http::parse_url(url);
  return parsed && parsed->host.ends_with(".modal.run");
}

}  // namespace

EvaluatorKeys evaluator_keys(const std::string& where, const std::string& url) {
  EvaluatorKeys keys;
  std::string key = environment(key_variable);
  if (!key.empty()) keys.headers.push_back({"Authorization", "Bearer " + key});
  keys.advice = key.empty() ? fmt::format("set {} to the service's key", key_variable)
                            : fmt::format("the service refuses the key in {}", key_variable);
  if (!is_at_modal(where, url)) return keys;
  std::string token = environment("MODAL_KEY");
  std::string secret = environment("MODAL_SECRET");
  if (!token.empty() && !secret.empty()) {
    keys.headers.push_back({"Modal-Key", token});
    keys.headers.push_back({"Modal-Secret", secret});
  }
  keys.advice += token.empty() || secret.empty()
                     ? "; set MODAL_KEY and MODAL_SECRET to a proxy token of the workspace"
                     : "; MODAL_KEY and MODAL_SECRET may belong to another workspace";
  return keys;
}

}  // namespace kw::app
