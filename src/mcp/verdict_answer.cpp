#include "mcp/verdict_answer.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/core/display.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "verify/explain/explanation.h"

namespace kw::mcp {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_error = 2'000;
constexpr std::size_t most_sanitized_bytes = std::size_t{16} << 10;
constexpr std::size_t text_columns = 100;

template <typename Enum>
json::value word_or_null(const std::optional<Enum>& value) {
  return value ? json::value(json::string(to_string(*value))) : json::value();
}

// "  forward pass: 1.68 (reference 0.2134 ms, kernel 0.1273 ms)".
std::string pass_in_words(std::string_view name, const Segment& segment) {
  std::string text = fmt::format("  {} pass: ", name);
  if (segment.speedup) text += fmt::format("{:.3g} ", *segment.speedup);
  return text + fmt::format("(reference {:.4g} ms, kernel {:.4g} ms)\n", segment.reference_time_ms,
                            segment.kernel_time_ms);
}

std::string passes_in_words(const Timing& timing) {
  if (const auto& segments = timing.segments)
    return pass_in_words("forward", segments->forward) + pass_in_words("backward", segments->backward);
  if (!timing.segments_why_null) return {};
  return fmt::format("  passes: not timed one by one: {}\n", visible_line(*timing.segments_why_null));
}

std::string speed_in_words(const Verdict& verdict, Trust min_trust) {
  if (verdict.status != Status::correct) return {};
  auto speedup = speedup_trusted(verdict, min_trust);
  if (!speedup)
    return fmt::format("  speed-up: not measured: {}\n",
                       visible_line(verdict.timing.why_null.value_or("its trust is too low")));
  std::string text = fmt::format("  speed-up: {:.3g}", *speedup);
  if (verdict.reference_time_ms && verdict.kernel_time_ms)
    text += fmt::format(" (reference {:.4g} ms, kernel {:.4g} ms)", *verdict.reference_time_ms,
                        *verdict.kernel_time_ms);
  return text + "\n" + passes_in_words(verdict.timing);
}

// Fields that few verdicts have, copied from the whole one. Very many findings are left to the resource.
void add_further(const json::object& whole, json::object& fields) {
  const json::value& sanitized = whole.at("sanitized");
  if (!sanitized.is_null() && json::serialize(sanitized).size() <= most_sanitized_bytes)
    fields["sanitized"] = sanitized;
  if (const json::value& segments = whole.at("timing").at("segments"); !segments.is_null())
    fields["segments"] = segments;
}

// The fields that an agent needs; their schema is below.
json::object fields_of(const Verdict& verdict, const explain::Explanation& why, Trust min_trust) {
  json::object fields;
  fields["status"] = to_string(verdict.status);
  fields["correct"] = value_or_null(correctness(verdict));
  fields["counts"] = value_or_null(verdict.counts);
  fields["counts_reason"] = word_or_null(verdict.counts_reason);
  fields["error_class"] = word_or_null(verdict.error_class);
  fields["error"] =
      verdict.error ? json::value(visible(shorten(*verdict.error, longest_error))) : json::value();
  fields["fault"] = word_or_null(verdict.fault);
  fields["stage"] = to_string(verdict.stage);
  fields["file"] = text_or_null(visible_line(shorten(why.file, longest_error)));
  fields["line"] = why.line > 0 ? json::value(why.line) : json::value();
  fields["advice"] = text_or_null(why.words.advice);
  fields["speedup"] = value_or_null(speedup_trusted(verdict, min_trust));
  fields["reference_time_ms"] = value_or_null(verdict.reference_time_ms);
  fields["kernel_time_ms"] = value_or_null(verdict.kernel_time_ms);
  fields["trust"] = word_or_null(verdict.trust);
  fields["shapes"] = word_or_null(verdict.shapes);
  fields["task_id"] = visible_line(verdict.task_id);
  return fields;
}

// A kernel's text may hide or reorder what an agent reads.
json::value visible_json(json::value value) {
  if (auto* text = value.if_string())
    *text = visible({text->data(), text->size()});
  else if (auto* items = value.if_array())
    for (json::value& item : *items) item = visible_json(std::move(item));
  else if (auto* members = value.if_object())
    for (auto& member : *members) member.value() = visible_json(std::move(member.value()));
  return value;
}

json::object described(json::value type, std::string_view text) {
  return {{"type", std::move(type)}, {"description", text}};
}

json::array or_null(std::string_view type) {
  return {json::string(type), "null"};
}

}  // namespace

ToolAnswer answer_with(const Verdict& verdict, const Job& job, const AnswerOptions& options,
                       VerdictShelf& shelf) {
  const explain::Explanation why =
      explain::explain(verdict, {.candidate = job.candidate.code, .reference = job.task.reference_code});
  json::object whole = std::move(visible_json(to_json(verdict)).get_object());
  const std::string text = json::serialize(whole);
  const std::string id =
      shelf.add(visible_line(fmt::format("{}: {}", verdict.id,
                                         explain::in_short(verdict.status, verdict.counts, why.rule))),
                text);
  ToolAnswer answer;
  answer.text = explain::to_terminal(why, {.colours = false, .width = text_columns}) +
                speed_in_words(verdict, options.min_trust);
  answer.structured = fields_of(verdict, why, options.min_trust);
  add_further(whole, answer.structured);
  answer.structured["verdict_uri"] = verdict_uri(id);
  if (options.full && text.size() <= most_full_bytes)
    answer.structured["verdict"] = std::move(whole);
  else if (options.full)
    answer.text += fmt::format("  note: the verdict has {} bytes: read its resource\n", text.size());
  // The end of a text that is cut would lose the resource.
  answer.text = shorten(answer.text, most_answer_bytes - 1'000);
  answer.text += fmt::format("  every field: {}\n", verdict_uri(id));
  return answer;
}

json::object verdict_answer_schema() {
  json::object fields{
      {"status", described("string", "correct, incorrect, failed, skipped or error")},
      {"correct", described(or_null("boolean"), "whether every trial was right; null: not decided")},
      {"counts", described(or_null("boolean"), "of a correct one: false if the result proves nothing")},
      {"counts_reason", described(or_null("string"), "why it does not count; `explain` explains the word")},
      {"error_class", described(or_null("string"), "the kind of the fault; `explain` explains the word")},
      {"error", described(or_null("string"), "the fault in words; it may contain text of the kernel")},
      {"fault", described(or_null("string"), "whose fault it is: kernel, task or infrastructure")},
      {"stage", described("string", "the stage of judging that ended it")},
      {"file", described(or_null("string"), "kernel.py or reference.py, where the fault lies")},
      {"line", described(or_null("integer"), "the line of that file, from 1")},
      {"advice", described(or_null("string"), "what usually helps")},
      {"speedup", described(or_null("number"), "the reference's time divided by the kernel's")},
      {"reference_time_ms", described(or_null("number"), "median, in milliseconds")},
      {"kernel_time_ms", described(or_null("number"), "median, in milliseconds")},
      {"trust", described(or_null("string"), "the method of judging: interpreter, in-process or replay")},
      {"shapes", described(or_null("string"), "whether the inputs had their full sizes")},
      {"task_id", described("string", "the task that was judged")},
      {"segments", described("object",
                             "where gradients were judged and timed: `forward` and `backward`, each with "
                             "reference_time_ms, kernel_time_ms and speedup")},
      {"sanitized", described("array",
                              "with the option `sanitize`: of each check its outcome (clean, found or "
                              "not_run), why_not and findings")},
      {"verdict_uri", described("string", "the resource with every field")},
      {"verdict", described("object", "every field, if `full` was true")}};
  json::array required;
  for (const auto& [name, schema] : fields)
    if (!is_one_of(name, {"segments", "sanitized", "verdict"})) required.emplace_back(name);
  return {{"type", "object"}, {"properties", std::move(fields)}, {"required", std::move(required)}};
}

}  // namespace kw::mcp
