#include "loop/exports/atif.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <fstream>
#include <optional>
#include <utility>

#include "base/core/crypto.h"
#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "loop/exports/moment.h"
#include "verify/explain/explanation.h"

namespace kw::exports {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* atif_version = "ATIF-v1.8";
constexpr std::size_t session_digits = 22;

// Steps are numbered from 1; fields without a value are left out, as the format's own writer does.
class Steps {
 public:
  json::object& add(std::string_view source, const std::string& text) {
    list_.push_back(
        json::object{{"step_id", list_.size() + 1}, {"source", json::string(source)}, {"message", text}});
    return list_.back().get_object();
  }
  std::size_t size() const { return list_.size(); }
  json::array take() { return std::move(list_); }

 private:
  json::array list_;
};

void put_count(json::object& object, const char* name, const std::optional<std::int64_t>& count) {
  if (count) object[name] = std::max<std::int64_t>(*count, 0);
}

json::object metrics_of(const Turn& turn) {
  json::object metrics;
  put_count(metrics, "prompt_tokens", turn.usage.prompt_tokens);
  put_count(metrics, "completion_tokens", turn.usage.completion_tokens);
  json::object more;
  put_count(more, "reasoning_tokens", turn.usage.reasoning_tokens);
  if (std::isfinite(turn.generation_ms) && turn.generation_ms > 0) more["generation_ms"] = turn.generation_ms;
  if (!turn.finish_reason.empty()) more["finish_reason"] = turn.finish_reason;
  if (!more.empty()) metrics["extra"] = std::move(more);
  return metrics;
}

json::object observation_of(const Turn& turn, const Task& task) {
  std::string words(trim(explain::to_terminal(
      explain::explain(*turn.verdict, {.candidate = turn.code, .reference = task.reference_code}), {})));
  return {{"results",
           json::array{{{"content", words}, {"extra", json::object{{"verdict", to_json(*turn.verdict)}}}}}}};
}

void add_turn(Steps& steps, const Turn& turn, const Task& task) {
  json::object& step = steps.add("agent", turn.completion);
  if (auto answered = moment_of(turn.answered_at)) step["timestamp"] = to_text(*answered);
  if (!turn.model.empty()) step["model_name"] = turn.model;
  if (!turn.reasoning.empty()) step["reasoning_content"] = turn.reasoning;
  if (json::object metrics = metrics_of(turn); !metrics.empty()) step["metrics"] = std::move(metrics);
  step["llm_call_count"] = 1;
  step["extra"] = json::object{{"turn", turn.turn}, {"code", text_or_null(turn.code)}};
  if (turn.verdict) step["observation"] = observation_of(turn, task);
  if (!turn.feedback.empty()) steps.add("user", turn.feedback);
}

json::object final_metrics(const Conversation& round, std::size_t steps) {
  Usage sum;
  auto add = [](std::optional<std::int64_t>& to, const std::optional<std::int64_t>& from) {
    constexpr std::int64_t most = std::int64_t{1} << 53;
    if (from) to = std::min(to.value_or(0) + std::clamp(*from, std::int64_t{0}, most), most);
  };
  for (const Turn& turn : round.turns) {
    add(sum.prompt_tokens, turn.usage.prompt_tokens);
    add(sum.completion_tokens, turn.usage.completion_tokens);
  }
  json::object metrics{{"total_steps", steps}};
  put_count(metrics, "total_prompt_tokens", sum.prompt_tokens);
  put_count(metrics, "total_completion_tokens", sum.completion_tokens);
  return metrics;
}

json::object extra_of(const Trace& trace, const Conversation& round, std::size_t number) {
  const Task& task = trace.task;
  json::object extra{{"task_id", task.task_id},
                     {"source", task.source},
                     {"name", task.name},
                     {"licence", text_or_null(task.licence)},
                     {"repo", text_or_null(task.repo)},
                     {"sample_number", trace.sample_number},
                     {"round", number},
                     {"represents_the_trace", &round == best_round(trace)}};
  if (round.stop_reason) extra["stop_reason"] = to_string(*round.stop_reason);
  if (const Turn* best = best_turn(round)) {
    extra["best_turn"] = best->turn;
    auto right = best->verdict ? correctness(*best->verdict) : std::nullopt;
    extra["correctness"] = value_or_null(right);
    extra["counts"] = best->verdict ? value_or_null(best->verdict->counts) : json::value();
    extra["speedup"] = best->verdict ? value_or_null(best->verdict->speedup) : json::value();
  }
  return extra;
}

json::object trajectory(const Trace& trace, const Conversation& round, std::size_t number,
                        const AtifOptions& options) {
  Steps steps;
  for (const Message& each : trace.prompt) {
    bool is_known = is_one_of(each.role, {"system", "assistant"});
    steps.add(!is_known ? "user" : each.role == "system" ? "system" : "agent", each.content);
  }
  for (const Turn& turn : round.turns) add_turn(steps, turn, trace.task);
  if (steps.size() == 0) return {};
  json::object agent{{"name", "kernelwright"}, {"version", options.program_version}};
  for (const Turn& turn : round.turns)
    if (!turn.model.empty()) agent["model_name"] = turn.model;
  json::object made{{"schema_version", atif_version}};
  made["agent"] = std::move(agent);  // early: is_atif() looks for it
  if (!options.session_id.empty()) made["session_id"] = options.session_id;
  made["trajectory_id"] =
      fmt::format("{}~{}#round-{}", to_utf8(trace.task.task_id), trace.sample_number + 1, number);
  const std::size_t count = steps.size();
  made["steps"] = steps.take();
  if (!round.error.empty()) made["notes"] = round.error;
  made["final_metrics"] = final_metrics(round, count);
  made["extra"] = extra_of(trace, round, number);
  return made;
}

class TrajectoryFile {
 public:
  TrajectoryFile(NewFile file, bool is_list) : file_(std::move(file)), is_list_(is_list) {}

  Result<> add(const json::object& trajectory) {
    std::string text = json::serialize(trajectory);
    if (!is_utf8(text)) text = to_utf8(text);
    if (is_list_) text = (is_empty_ ? "[\n" : ",\n") + text;
    is_empty_ = false;
    return file_.write(is_list_ ? text : text + "\n");
  }
  Result<> finish() {
    if (is_list_)
      if (auto ended = file_.write("\n]\n"); !ended) return ended;
    return file_.finish();
  }
  bool is_empty() const { return is_empty_; }

 private:
  NewFile file_;
  bool is_list_;
  bool is_empty_ = true;
};

}  // namespace

std::vector<json::object> trajectories_of(const Trace& trace, const AtifOptions& options) {
  std::vector<json::object> made;
  for (std::size_t at = 0; at < trace.rounds.size(); ++at)
    if (json::object one = trajectory(trace, trace.rounds[at], at + 1, options); !one.empty())
      made.push_back(std::move(one));
  return made;
}

Result<Exported> write_atif(store::TraceReader& reader, const fs::path& path,
                            const std::string& program_version) {
  AtifOptions options{{}, program_version};
  Exported exported;
  auto facts = reader.facts();
  if (!facts) return std::unexpected(facts.error());
  if (*facts) {
    const store::RunInfo& info = (*facts)->info;
    options.session_id =
        sha256_hex(info.created_at + json::serialize(info.settings)).substr(0, session_digits);
    exported.not_ended = (*facts)->summary.traces - (*facts)->summary.ended;
  }
  auto created = NewFile::create(path);
  if (!created) return std::unexpected(created.error());
  TrajectoryFile file(std::move(*created), path.extension() == ".json");
  while (true) {
    auto trace = reader.next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) break;
    auto made = trajectories_of(**trace, options);
    ++(made.empty() ? exported.without_any : exported.traces);
    for (const json::object& each : made)
      if (auto added = file.add(each); !added) return std::unexpected(added.error());
  }
  if (file.is_empty()) return exported;
  if (auto finished = file.finish(); !finished) return std::unexpected(finished.error());
  return exported;
}

bool is_atif(const fs::path& path) {
  constexpr std::size_t head_bytes = 4096;
  std::ifstream file(path, std::ios::binary);
  std::string head(head_bytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  std::string_view text = trim(std::string_view(head).substr(0, static_cast<std::size_t>(file.gcount())));
  if (text.starts_with('[')) text = trim(text.substr(1));
  return text.starts_with(R"({"schema_version":"ATIF-)") &&
         text.contains(R"("agent":{"name":"kernelwright")");
}

}  // namespace kw::exports
