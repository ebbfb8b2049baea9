#include "verify/explain/sarif.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <map>

#include "base/core/json.h"
#include "base/core/text.h"
#include "verify/explain/words.h"

namespace kw::explain {
namespace json = boost::json;
namespace {

constexpr std::size_t most_foreign_bytes = 4'000'000;
constexpr std::string_view source_root = "%SRCROOT%";

// Every byte but letters, digits, "-", ".", "_", "~" and "/" is encoded, so that a name can be no scheme,
// query or fragment, and need not be UTF-8.
std::string uri_of(const Place& place) {
  std::string uri = place.is_inside ? "" : "file://";
  for (char c : place.path) {
    if (is_word(c) || std::string_view("-.~/").contains(c))
      uri += c;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

// The end of a placeholder, "{0}", that begins here; npos: none does.
std::size_t placeholder_end(std::string_view text, std::size_t begin) {
  if (text[begin] != '{') return std::string_view::npos;
  std::size_t end = begin + 1;
  while (end < text.size() && is_digit(text[end])) ++end;
  const bool is_placeholder = end > begin + 1 && end < text.size() && text[end] == '}';
  return is_placeholder ? end + 1 : std::string_view::npos;
}

// Within a SARIF message "[text](target)" is a link, and "{0}" a placeholder.
std::string sarif_text(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = placeholder_end(text, i);
    if (end != std::string_view::npos) {
      plain += fmt::format("{{{}}}", text.substr(i, end - i));
      i = end - 1;
      continue;
    }
    if (i > 0 && text[i] == '(' && text[i - 1] == ']') plain += ' ';
    plain += text[i];
  }
  return plain;
}

json::object message(std::string_view text) {
  return {{"text", sarif_text(text)}};
}

std::string_view level_word(Level level) {
  switch (level) {
    case Level::error:
      return "error";
    case Level::warning:
      return "warning";
    case Level::note:
      return "note";
    case Level::none:
      break;
  }
  return "none";
}

json::array rules_json() {
  json::array rules;
  for (const Rule& rule : all_rules())
    rules.push_back({{"id", rule.id},
                     {"shortDescription", {{"text", rule.what}}},
                     {"fullDescription", {{"text", rule.what}}},
                     {"help", {{"text", rule.advice.empty() ? rule.what : rule.advice}}},
                     {"defaultConfiguration", {{"level", level_word(rule.level)}}}});
  return rules;
}

json::array locations_of(const Place& place) {
  json::object artifact{{"uri", uri_of(place)}};
  if (place.is_inside) artifact["uriBaseId"] = source_root;
  json::object physical{{"artifactLocation", std::move(artifact)}};
  // Code scanning asks for a line, also of a finding about a whole file.
  json::object region{{"startLine", std::max<std::size_t>(place.line, 1)}};
  if (place.column > 0) {
    region["startColumn"] = place.column;
    region["endLine"] = place.line;
    region["endColumn"] = place.end_column;
  }
  physical["region"] = std::move(region);
  return {{{"physicalLocation", std::move(physical)}}};
}

class Log {
 public:
  Log(const Findings& findings, const SarifRun& run) : findings_(findings), run_(run) {
    for (const Rule& rule : all_rules()) rule_index_.emplace(rule.id, rule_index_.size());
  }

  std::string text() {
    json::array results;
    for (const auto& [level, found] : findings_.by_level())
      for (const Finding& finding : found)
        if (results.size() < most_sarif_results) results.push_back(result(finding));
    json::object driver{{"name", "Kernelwright"}, {"version", run_.program_version}, {"rules", rules_json()}};
    json::object invocation{{"executionSuccessful", run_.is_complete},
                            {"toolExecutionNotifications", notifications(results.size())}};
    json::object run{
        {"tool", {{"driver", std::move(driver)}}},
        {"columnKind", "unicodeCodePoints"},
        {"originalUriBaseIds",
         {{source_root, {{"description", {{"text", "the working directory of kernelwright"}}}}}}},
        {"invocations", json::array{std::move(invocation)}},
        {"results", std::move(results)}};
    json::object log{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                     {"version", "2.1.0"},
                     {"runs", json::array{std::move(run)}}};
    return json::serialize(log) + "\n";
  }

 private:
  json::object result(const Finding& it) {
    json::object result{{"ruleId", it.rule}};
    if (auto rule = rule_index_.find(it.rule); rule != rule_index_.end()) result["ruleIndex"] = rule->second;
    result["level"] = level_word(it.level);
    result["message"] = message(words_of(it));
    if (it.place) result["locations"] = locations_of(*it.place);
    // Equal findings in one file are told apart by their order.
    result["partialFingerprints"] = {
        {"kernelwright/v1", fmt::format("{}:{}", it.fingerprint, ++fingerprints_[it.fingerprint])}};
    result["properties"] = {{"id", it.id},
                            {"task_id", it.task_id},
                            {"status", to_string(it.status)},
                            {"counts", value_or_null(it.counts)},
                            {"speedup", value_or_null(it.speedup)},
                            {"trust", it.trust ? json::value(to_string(*it.trust)) : json::value()},
                            {"candidate_sha256", it.candidate_sha256}};
    return result;
  }

  // The first sentence is the program's own: code scanning shows it in its lists.
  std::string words_of(const Finding& it) {
    std::string text = fmt::format("{}\n{}: {}", it.sentence, it.id, it.in_short);
    const std::size_t foreign = it.details.size();
    if (foreign_bytes_ + foreign <= most_foreign_bytes) {
      foreign_bytes_ += foreign;
      if (foreign > 0) text += "\n" + it.details;
    } else {
      ++shortened_;
    }
    if (!it.advice.empty()) text += "\nhelp: " + it.advice;
    return text;
  }

  json::array notifications(std::size_t shown) const {
    json::array list;
    auto notify = [&](std::string_view level, const std::string& text, const std::optional<Place>& place) {
      json::object note{{"level", level}, {"message", message(text)}};
      if (place) note["locations"] = locations_of(*place);
      list.push_back(std::move(note));
    };
    for (const Findings::BadRow& row : findings_.bad_rows()) notify("error", row.words, row.place);
    if (const std::size_t more = findings_.bad_row_count() - findings_.bad_rows().size(); more > 0)
      notify("error", fmt::format("{} more rows could not be judged", more), {});
    if (const std::size_t all = findings_.total() - findings_.right(); all > shown)
      notify("warning",
             fmt::format("{} results are left out: a log has at most {}", all - shown, most_sarif_results),
             {});
    if (shortened_ > 0)
      notify("note",
             fmt::format("{} results lack their details: a log has at most {} bytes of them", shortened_,
                         most_foreign_bytes),
             {});
    return list;
  }

  const Findings& findings_;
  const SarifRun& run_;
  std::map<std::string, std::size_t> rule_index_;
  std::map<std::string, std::size_t> fingerprints_;
  std::size_t foreign_bytes_ = 0;
  std::size_t shortened_ = 0;
};

}  // namespace

std::string to_sarif(const Findings& findings, const SarifRun& run) {
  return Log(findings, run).text();
}

}  // namespace kw::explain
