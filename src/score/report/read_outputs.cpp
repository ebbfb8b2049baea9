#include "score/report/read_outputs.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <optional>

#include "base/core/json.h"
#include "base/core/standard_input.h"
#include "base/core/text.h"
#include "base/rows/rows.h"
#include "code/answers/extraction.h"
#include "loop/run_store/run_reader.h"
#include "loop/tasks/formats.h"
#include "loop/tasks/kernelbench_results.h"
#include "score/checks/held_out.h"
#include "score/report/result.h"
#include "types/job.h"

namespace kw::scoring {
namespace json = boost::json;
namespace {

using Change = std::string (*)(std::string_view);

std::string as_it_is(std::string_view text) {
  return std::string(text);
}

std::string with_lf(std::string_view text) {
  std::string changed;
  changed.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') changed += text[i];
  return changed;
}

std::string trimmed(std::string_view text) {
  return std::string(trim(text));
}

// Removes white space at the end only, since a continued line needs its indentation.
std::string trimmed_behind(std::string_view text) {
  std::size_t last = text.find_last_not_of(" \t\r\n\v\f");
  return std::string(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

constexpr Change changes[] = {
    as_it_is,
    with_lf,
    trimmed,
    trimmed_behind,
    [](std::string_view text) { return trimmed(with_lf(text)); },
    [](std::string_view text) { return trimmed_behind(with_lf(text)); },
};

std::set<std::string> variants(std::string_view text) {
  std::set<std::string> all;
  for (Change change : changes) all.insert(change(text));
  all.erase("");
  return all;
}

// A list of messages, which CSV and Parquet contain as JSON text.
std::optional<json::array> messages_in(const json::value& value) {
  if (const json::array* list = value.if_array()) return *list;
  const json::string* text = value.if_string();
  if (!text || !trim(*text).starts_with('[')) return {};
  auto parsed = parse_json(*text);
  if (!parsed || !parsed->is_array() || parsed->get_array().empty()) return {};
  for (const json::value& each : parsed->get_array())
    if (!each.is_object() || !each.get_object().contains("role")) return {};
  return std::move(parsed->get_array());
}

json::object message(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

json::array changed(const json::array& messages, Change change) {
  json::array all = messages;
  for (json::value& each : all) {
    json::object* object = each.if_object();
    json::value* content = object ? object->if_contains("content") : nullptr;
    // Training reads a message with only tool calls as one with empty content.
    if (object && object->contains("tool_calls") && (!content || content->is_null()))
      (*object)["content"] = "";
    else if (content && content->is_string())
      *content = change(content->get_string());
  }
  return all;
}

// A prompt or a completion, as messages and as text.
struct Side {
  std::optional<json::array> messages;
  std::string text;
};

std::optional<Side> side_of(const json::value* value) {
  if (!value) return {};
  Side side{messages_in(*value), ""};
  if (auto text = table::text_of(side.messages ? json::value(*side.messages) : *value)) side.text = *text;
  if (side.text.empty() && (!side.messages || side.messages->empty())) return {};
  return side;
}

class Forms {
 public:
  void add_pair(const Side& asked, const Side& answered) {
    for (const std::string& prompt : variants(asked.text))
      for (const std::string& completion : variants(answered.text)) add_texts(prompt, completion);
    if (asked.messages || answered.messages) {
      json::array all = messages_of(asked, "user");
      for (json::value& each : messages_of(answered, "assistant")) all.push_back(std::move(each));
      add_messages(all);
    }
  }

  void add_messages(const json::array& messages) {
    for (Change change : changes) hashes_.insert(score::messages_sha256(changed(messages, change)));
  }

  void add_text(std::string_view text) {
    for (const std::string& variant : variants(text)) hashes_.insert(score::text_sha256(variant));
  }

  std::set<std::string> take() { return std::move(hashes_); }

 private:
  void add_texts(const std::string& prompt, const std::string& completion) {
    hashes_.insert(score::row_sha256(prompt, completion));
    hashes_.insert(score::text_sha256(prompt + completion));
    hashes_.insert(
        score::messages_sha256(json::array{message("user", prompt), message("assistant", completion)}));
  }

  static json::array messages_of(const Side& side, std::string_view role) {
    return side.messages ? *side.messages : json::array{message(role, side.text)};
  }

  std::set<std::string> hashes_;
};

bool is_of_assistant(const json::value& value) {
  const json::object* object = value.if_object();
  return object && string_at(*object, "role") == "assistant";
}

// Adds a conversation as messages, and as a pair: the earlier messages and the last answer.
void add_conversation(const json::array& messages, Forms& forms) {
  if (messages.empty()) return;
  forms.add_messages(messages);
  if (messages.size() < 2 || !is_of_assistant(messages.back())) return;
  json::value before = json::array(messages.begin(), messages.end() - 1);
  json::value answer = json::array{messages.back()};
  auto asked = side_of(&before);
  auto answered = side_of(&answer);
  if (asked && answered) forms.add_pair(*asked, *answered);
}

}  // namespace

std::set<std::string> row_forms(const json::object& row, const std::vector<std::string>& prompts,
                                const std::vector<std::string>& completions) {
  Forms forms;
  std::vector<Side> asked;
  for (const std::string& name : prompts)
    if (auto side = side_of(row.if_contains(name))) asked.push_back(std::move(*side));
  if (const json::value* own = row.if_contains("messages"))
    if (auto messages = messages_in(*own)) {
      add_conversation(*messages, forms);
      // The answer may be in another column.
      if (!messages->empty() && !is_of_assistant(messages->back())) asked.push_back(*side_of(own));
    }
  for (const std::string& name : completions)
    if (auto answered = side_of(row.if_contains(name)))
      for (const Side& prompt : asked) forms.add_pair(prompt, *answered);
  for (const char* name : {"text", "content", "code"})
    if (const json::value* text = row.if_contains(name); text && text->is_string())
      forms.add_text(text->get_string());
  return forms.take();
}

namespace {

namespace fs = std::filesystem;

bool is_run(const fs::path& path) {
  std::error_code ignored;
  return path.filename() == "run.db" || fs::exists(path / "run.db", ignored);
}

// Results without kernels: their verdicts can be taken, and nothing can be judged again.
Result<> collect_recorded(const std::string& path, KernelBenchVerdicts found, Collector& to) {
  if (!to.options().recorded)
    return fail(
        fmt::format("{} has results of KernelBench and no kernels", path),
        "--recorded uses these results; or give the run folder, with --kernelbench DIR, to judge again");
  for (RowError& error : found.bad_rows) to.bad(std::move(error));
  for (const Verdict& verdict : found.verdicts) {
    Output output;
    output.record.target = verdict.id;
    output.record.item = output.record.task_id = verdict.task_id;
    output.record.source = "kernelbench";
    output.record.verdict = facts_of(verdict, JudgedBy::recorded, to.options().least);
    to.add(std::move(output));
  }
  return {};
}

// Reads a folder as the input kind that the verifier recognises.
Result<> collect(const std::string& path, Collector& to) {
  std::error_code error;
  if (is_standard_input(path))
    return fail("standard input cannot be scored", "write it to a file, and name the file");
  if (!fs::exists(path, error)) return fail(fmt::format("{} does not exist", path), "check the path");
  if (is_result(path))
    return fail(fmt::format("{} is the result of an earlier score, not a file of answers", path),
                "pass it to --baseline, or with a sheet to --read-review");
  if (is_run(path)) return collect_traces(path, to);
  if (fs::is_directory(path, error)) return collect_jobs(path, to);
  auto recorded = read_kernelbench_results(path);
  if (!recorded) return std::unexpected(recorded.error());
  if (*recorded) return collect_recorded(path, std::move(**recorded), to);
  auto rows = holds_rows(path, to.options());
  if (!rows) return std::unexpected(rows.error());
  if (*rows) return collect_rows(path, to);
  auto kind = recognise(path, Wanted::kernels, to.options().parquet);
  if (!kind) return std::unexpected(kind.error());
  return *kind == InputKind::traces ? collect_traces(path, to) : collect_jobs(path, to);
}

Output output_of(Job job) {
  Output output;
  output.record.target = job.id;
  output.record.item = output.record.task_id = job.task.task_id;
  output.record.source = job.task.source;
  output.code = job.candidate.code;
  output.job = std::move(job);
  return output;
}

}  // namespace

void Collector::add(Output output) {
  ScoredAnswer& record = output.record;
  std::size_t before = targets_.next(record.target);
  if (before > 0) record.target = fmt::format("{}~{}", record.target, before + 1);
  record.sample_number = samples_.next(record.item);
  record.answer_sha256 = candidate_sha256(output.code);
  record.answer_bytes = output.code.size();
  if (output.job) {
    output.job->id = record.target;
    output.job->sample_number = record.sample_number;
  }
  set_.outputs.push_back(std::move(output));
}

Result<> collect_jobs(const std::string& path, Collector& to) {
  auto source = open_source(path, {.helper = to.options().parquet, .kernelbench = to.options().kernelbench});
  if (!source) return std::unexpected(source.error());
  return read_all(
      **source, [&](Job job) { to.add(output_of(std::move(job))); },
      [&](RowError error) { to.bad(std::move(error)); });
}

Result<OutputSet> read_outputs(const std::vector<std::string>& sources, const ReadOptions& options) {
  Collector collector(options);
  for (const std::string& source : sources)
    if (auto read = collect(source, collector); !read) return std::unexpected(read.error());
  return collector.take();
}

namespace {

Output blank(const Trace& trace) {
  Output output;
  output.record.item = output.record.task_id = trace.task.task_id;
  output.record.source = trace.task.source;
  return output;
}

// Adds a conversation without an answer: wrong if the model declined or ran out of context, else unknown.
void add_silence(const Trace& trace, const std::string& target, Collector& to) {
  Output output = blank(trace);
  output.record.target = target;
  VerdictFacts& facts = output.record.verdict;
  facts.by = JudgedBy::here;
  facts.status = "no_answer";
  facts.error_class = "no_answer";
  const Conversation* last = trace.rounds.empty() ? nullptr : &trace.rounds.back();
  auto reason = last ? last->stop_reason : std::nullopt;
  if (reason) facts.error_class = to_string(*reason);
  if (last) facts.why = last->error;
  bool of_the_model = reason == StopReason::refused || reason == StopReason::context_overflow;
  facts.standing = of_the_model ? score::Standing::wrong : score::Standing::unknown;
  to.add(std::move(output));
}

struct Place {
  std::string target;
  bool several_rounds = false;
  std::size_t round = 0;
};

void add_turn(const Trace& trace, const Turn& turn, const Place& place, JudgedBy by, Collector& to) {
  Output output = blank(trace);
  bool alone = !place.several_rounds && trace.rounds.front().turns.size() == 1;
  output.record.target = alone ? place.target
                         : place.several_rounds
                             ? fmt::format("{}#{}.{}", place.target, place.round, turn.turn)
                             : fmt::format("{}#{}", place.target, turn.turn);
  output.record.turn = alone ? 0 : turn.turn;
  if (!alone) output.conversation = place.target;
  output.record.model = turn.model;
  output.code = turn.code.empty() ? extract_code(turn.completion) : turn.code;
  bool takes = by == JudgedBy::here || to.options().recorded;
  if (takes && turn.verdict) {
    output.record.verdict = facts_of(*turn.verdict, by, to.options().least);
    if (by == JudgedBy::here) to.saw(*turn.verdict);
    return to.add(std::move(output));
  }
  Job job;
  job.task = trace.task;
  job.candidate.code = output.code;
  output.job = std::move(job);
  to.add(std::move(output));
}

}  // namespace

void add_trace(const Trace& trace, JudgedBy by, Collector& to) {
  std::string key = sample_key(trace.task);
  std::size_t before = to.occurrence(key);
  std::string target = before == 0 ? key : fmt::format("{}~{}", key, before + 1);
  std::vector<std::pair<std::size_t, const Turn*>> turns;
  for (std::size_t round = 0; round < trace.rounds.size(); ++round)
    for (const Turn& turn : trace.rounds[round].turns) turns.emplace_back(round + 1, &turn);
  if (turns.empty()) return add_silence(trace, target, to);
  if (to.options().turns == Turns::first) turns.resize(1);
  if (to.options().turns == Turns::last) turns.erase(turns.begin(), turns.end() - 1);
  for (const auto& [round, turn] : turns)
    add_turn(trace, *turn, {target, trace.rounds.size() > 1, round}, by, to);
}

Result<> collect_traces(const std::string& path, Collector& to) {
  auto reader = store::open_run(path);
  if (!reader) return std::unexpected(reader.error());
  while (true) {
    auto trace = (*reader)->next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) return {};
    add_trace(**trace, JudgedBy::recorded, to);
  }
}

}  // namespace kw::scoring
