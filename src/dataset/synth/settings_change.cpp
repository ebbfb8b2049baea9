#include "dataset/synth/settings_change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "base/core/json.h"

namespace kw::synth {
namespace {

namespace json = boost::json;

std::vector<std::string> texts_at(const json::object& object, const char* key) {
  std::vector<std::string> texts;
  if (const json::array* list = array_at(object, key))
    for (const json::value& each : *list)
      if (const auto* text = each.if_string()) texts.emplace_back(*text);
  return texts;
}

std::string in_words(const json::object& settings, const char* key) {
  const json::value* value = settings.if_contains(key);
  if (value == nullptr) return "pytorch";  // of the keys, only the source may be absent
  if (const auto* text = value->if_string()) return std::string(*text);
  if (value->is_double()) return fmt::format("{}", value->get_double());
  if (!value->is_array()) return json::serialize(*value);
  const auto texts = texts_at(settings, key);
  return texts.empty() ? "all" : fmt::format("{}", fmt::join(texts, " "));
}

// "flag-gems 5.0.2" of an identity, which ends with hashes (ReadFiles in named.h).
std::string name_in(std::string identity) {
  constexpr std::size_t shortest_hash = 40;
  while (true) {
    const std::size_t space = identity.rfind(' ');
    if (space == std::string::npos) return identity;
    const std::string_view last = std::string_view(identity).substr(space + 1);
    if (!last.empty() && last != "files" && last.size() < shortest_hash) return identity;
    identity.resize(space);
  }
}

// The names of the sources that only one of the two has: "flag-gems 5.0.2", "manifest".
std::set<std::string> only_in(const json::object& one, const json::object& other) {
  const auto rest = texts_at(other, "from");
  std::set<std::string> names;
  for (const std::string& each : texts_at(one, "from"))
    if (std::ranges::find(rest, each) == rest.end()) names.insert(name_in(each));
  return names;
}

void add_sources(const json::object& before, const json::object& now, std::vector<std::string>& all) {
  const auto gone = only_in(before, now);
  const auto added = only_in(now, before);
  auto add = [&](const std::string& name, std::string_view how) {
    all.push_back(
        fmt::format("{} {}", name == "manifest" ? "--manifest" : fmt::format("--from {}", name), how));
  };
  for (const std::string& name : gone) add(name, added.contains(name) ? "has changed" : "is missing now");
  for (const std::string& name : added)
    if (!gone.contains(name)) add(name, "is new");
}

}  // namespace

std::string settings_change(const json::object& before, const json::object& now) {
  std::vector<std::string> all;
  auto add = [&](const char* key, std::string_view option) {
    const std::string then = in_words(before, key);
    const std::string wanted = in_words(now, key);
    if (then != wanted) all.push_back(fmt::format("{} {} (now {})", option, then, wanted));
    return then != wanted;
  };
  if (add("source", "--source")) return all.front();
  add("seed", "--seed");
  add("families", "--families");
  add("near_threshold", "--near-threshold");
  add("shingle_tokens", "--shingle");
  add("grammar", "version of the sources");
  add_sources(before, now, all);
  return fmt::format("{}", fmt::join(all, "; "));
}

}  // namespace kw::synth
