#include "mcp/resources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <vector>

#include "base/core/display.h"
#include "base/core/text.h"
#include "mcp/shown.h"

namespace kw::mcp {
namespace {

namespace json = boost::json;

constexpr std::string_view verdict_prefix = "kernelwright://verdict/";
constexpr std::string_view docs_prefix = "kernelwright://docs/";
constexpr std::string_view markdown = "text/markdown";
constexpr std::string_view json_type = "application/json";

json::object contents(std::string_view uri, std::string_view type, std::string_view text) {
  return {{"contents", json::array{json::object{{"uri", uri}, {"mimeType", type}, {"text", text}}}}};
}

Result<json::object> read_verdict(std::string_view uri, const VerdictShelf& verdicts) {
  const VerdictShelf::Kept* kept = verdicts.find(uri.substr(verdict_prefix.size()));
  if (kept == nullptr)
    return fail(fmt::format("{} is no verdict of this session", shown(uri)),
                verdicts.all().empty() ? "call `verify` first"
                                       : fmt::format("the session keeps {} to {}", verdicts.all().front().id,
                                                     verdicts.all().back().id));
  if (kept->json.size() > most_resource_bytes)
    return fail(fmt::format("{} has {} bytes, the limit is {}", uri, kept->json.size(), most_resource_bytes),
                "judge with fewer timing_trials, or write it with `kernelwright verify --output`");
  return contents(uri, json_type, kept->json);
}

Result<json::object> read_page(std::string_view uri) {
  const std::string_view name = uri.substr(docs_prefix.size());
  for (const DocsPage& page : docs_pages())
    if (page.name == name) return contents(uri, markdown, page.text);
  std::vector<std::string_view> names;
  for (const DocsPage& page : docs_pages()) names.push_back(page.name);
  return fail(fmt::format("{} is no page", shown(uri)),
              fmt::format("the pages are {}", fmt::join(names, ", ")));
}

}  // namespace

std::string VerdictShelf::add(std::string title, std::string text) {
  bytes_ += text.size();
  kept_.push_back({fmt::format("v{}", ++count_), std::move(title), std::move(text)});
  while (kept_.size() > 1 && (kept_.size() > most || bytes_ > most_bytes)) {
    bytes_ -= kept_.front().json.size();
    kept_.pop_front();
  }
  return kept_.back().id;
}

const VerdictShelf::Kept* VerdictShelf::find(std::string_view id) const {
  auto found = std::ranges::find(kept_, id, &Kept::id);
  return found == kept_.end() ? nullptr : &*found;
}

std::string verdict_uri(std::string_view id) {
  return fmt::format("{}{}", verdict_prefix, id);
}

json::object list_resources(const VerdictShelf& verdicts) {
  json::array all;
  for (const DocsPage& page : docs_pages())
    all.push_back(json::object{{"uri", fmt::format("{}{}", docs_prefix, page.name)},
                               {"name", page.name},
                               {"title", page.title},
                               {"mimeType", markdown},
                               {"size", page.text.size()}});
  for (const VerdictShelf::Kept& kept : verdicts.all() | std::views::reverse)
    all.push_back(json::object{{"uri", verdict_uri(kept.id)},
                               {"name", kept.id},
                               {"title", kept.title},
                               {"mimeType", json_type},
                               {"size", kept.json.size()}});
  return {{"resources", std::move(all)}};
}

json::object list_resource_templates() {
  json::object verdict{{"uriTemplate", fmt::format("{}{{id}}", verdict_prefix)},
                       {"name", "verdict"},
                       {"title", "A verdict of this session"},
                       {"description", "every field of the verdict, as docs/verdict.md describes it"},
                       {"mimeType", json_type}};
  return {{"resourceTemplates", json::array{std::move(verdict)}}};
}

Result<json::object> read_resource(std::string_view uri, const VerdictShelf& verdicts) {
  if (uri.starts_with(verdict_prefix)) return read_verdict(uri, verdicts);
  if (uri.starts_with(docs_prefix)) return read_page(uri);
  return fail(fmt::format("{} is no resource of this server", shown(uri)), "resources/list names them");
}

}  // namespace kw::mcp
