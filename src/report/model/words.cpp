#include "report/model/words.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

#include "base/core/json.h"
#include "base/core/text.h"
#include "verify/explain/glossary.h"

namespace kw::report {
namespace json = boost::json;
namespace {

std::string_view page_of(explain::WordKind kind) {
  using explain::WordKind;
  switch (kind) {
    case WordKind::status:
    case WordKind::stage:
    case WordKind::fault:
      return "docs/verdict.md#status-fields";
    case WordKind::error_class:
      return "docs/verdict.md#error-classes";
    case WordKind::counts_reason:
      return "docs/verdict.md#counts-when-a-correct-result-is-no-evidence";
    case WordKind::flag:
      return "docs/verdict.md#timing-fields";
    case WordKind::trust:
      return "docs/gpu-path.md";
    case WordKind::shapes:
      return "docs/verdict.md#comparison-calling-convention-and-launches";
    case WordKind::other_shapes:
    case WordKind::family_outcome:
    case WordKind::family:
      return "docs/varied_inputs.md";
    case WordKind::isolation:
      return "docs/isolation.md";
    case WordKind::sanitizer:
    case WordKind::sanitizer_outcome:
      return "docs/sanitize.md";
    case WordKind::stop_reason:
      return "docs/multi_turn.md#stop-rule";
    case WordKind::answer:
    case WordKind::task_mark:
      return "docs/certify.md#marks";
  }
  return "docs/verdict.md";
}

json::object entry(std::string_view meaning, std::string_view remedy, std::string_view page) {
  return {{"meaning", meaning}, {"remedy", text_or_null(remedy)}, {"page", page}};
}

// The numbers of a mismatch, the findings, hints and causes, one text each.
json::array notes_of(const explain::Explanation& it) {
  json::array notes;
  auto add = [&](std::string_view text) {
    text = trim(text);
    if (!text.empty()) notes.emplace_back(text);
  };
  if (it.mismatch) add(explain::in_words(*it.mismatch));
  for (const std::string& finding : it.findings) add(finding);
  for (const explain::Hint& hint : it.hints)
    add(hint.line == 0 ? hint.text : fmt::format("line {}: {}", hint.line, hint.text));
  for (const std::string& cause : it.causes) add(cause);
  add(it.circumstances);
  return notes;
}

json::value place_of(const explain::Explanation& it) {
  if (it.file.empty()) return nullptr;
  json::object place{{"file", it.file}, {"line", nullptr}, {"column", nullptr}};
  if (it.line != 0) place["line"] = it.line;
  if (it.excerpt && it.excerpt->span) place["column"] = explain::columns_of(*it.excerpt).begin;
  return place;
}

}  // namespace

json::object glossary_json() {
  json::object words;
  for (const explain::Entry& each : explain::glossary()) {
    if (each.kind == explain::WordKind::task_mark || each.kind == explain::WordKind::answer)
      continue;  // no page shows certificates
    json::value& kind = words[to_string(each.kind)];
    if (!kind.is_object()) kind.emplace_object();
    kind.get_object()[each.word] = entry(each.what, each.advice, page_of(each.kind));
  }
  return words;
}

json::object explained(const Verdict& verdict, const explain::Sources& sources) {
  explain::Explanation it = explain::explain(verdict, sources);
  std::string_view sentence = it.words.what;
  if (sentence.empty()) sentence = explain::words_of(verdict.status).what;
  return {{"sentence", text_or_null(sentence)},
          {"error", text_or_null(it.error)},
          {"notes", notes_of(it)},
          {"help", text_or_null(it.words.advice)},
          {"place", place_of(it)}};
}

}  // namespace kw::report
