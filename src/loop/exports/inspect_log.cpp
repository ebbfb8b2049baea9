#include "loop/exports/inspect_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/core/crypto.h"
#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "loop/exports/inspect_sample.h"
#include "loop/exports/zip_file.h"

namespace kw::exports {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr int log_version = 2;
constexpr std::size_t run_id_digits = 22;

// The first member: it tells this program's logs from those of inspect_ai, which ignores it.
constexpr std::string_view first_member = "_journal/kernelwright.json";

// A trace may hold bytes that are not UTF-8, which no reader of JSON accepts.
std::string json_text(const json::value& value) {
  std::string text = json::serialize(value);
  return is_utf8(text) ? text : to_utf8(text);
}

// The mean of each task's mean, so that all tasks have equal weight.
class Mean {
 public:
  void add(const std::string& task, double value) {
    auto& [sum, count] = tasks_[task];
    sum += value;
    ++count;
    ++samples_;
  }
  std::size_t samples() const { return samples_; }
  double value() const {
    double sum = 0;
    for (const auto& [task, each] : tasks_) sum += each.first / static_cast<double>(each.second);
    return tasks_.empty() ? 0 : sum / static_cast<double>(tasks_.size());
  }
  double standard_error() const {
    if (tasks_.size() < 2) return 0;
    double mean = value();
    double squares = 0;
    for (const auto& [task, each] : tasks_) {
      double off = each.first / static_cast<double>(each.second) - mean;
      squares += off * off;
    }
    auto count = static_cast<double>(tasks_.size());
    return std::sqrt(squares / (count - 1) / count);
  }

 private:
  std::map<std::string, std::pair<double, std::size_t>> tasks_;
  std::size_t samples_ = 0;
};

json::object metric(const char* name, double value) {
  return {{"name", name}, {"value", value}, {"params", json::object()}};
}

// What the header says about all samples.
class Totals {
 public:
  void add(const Sample& sample) {
    ++samples_;
    if (!sample.has_error) ++completed_;
    epochs_ = std::max(epochs_, sample.epoch);
    ++ids_[sample.id];
    ++models_[sample.model];
    for (const auto& [scorer, value] : sample.values) {
      bool is_speed = scorer == speedup_scorer;
      means_[is_speed                   ? 2
             : scorer == correct_scorer ? 1
                                        : 0]
          .add(sample.id, is_speed ? std::log(value) : value);
    }
    if (sample.began && (!began_ || *sample.began < *began_)) began_ = sample.began;
    if (sample.ended && (!ended_ || *sample.ended > *ended_)) ended_ = sample.ended;
    input_tokens_ += sample.usage.prompt_tokens.value_or(0);
    output_tokens_ += sample.usage.completion_tokens.value_or(0);
  }

  std::size_t samples() const { return samples_; }
  std::size_t tasks() const { return ids_.size(); }
  int epochs() const { return epochs_; }
  Moment began() const { return began_.value_or(Moment()); }

  // The model of most samples.
  std::string model() const {
    auto most = std::ranges::max_element(models_, {}, [](const auto& each) { return each.second; });
    return most == models_.end() || most->first.empty() ? "unknown" : most->first;
  }

  json::object results(std::size_t not_ended) const {
    json::array scores;
    constexpr std::array names = {counts_scorer, correct_scorer, speedup_scorer};
    for (std::size_t at = 0; at < names.size(); ++at) {
      const Mean& mean = means_[at];
      if (mean.samples() == 0) continue;
      json::object metrics;
      if (names[at] == speedup_scorer) {
        metrics["geometric_mean"] = metric("geometric_mean", std::exp(mean.value()));
      } else {
        metrics["accuracy"] = metric("accuracy", mean.value());
        metrics["stderr"] = metric("stderr", mean.standard_error());
      }
      scores.push_back({{"name", names[at]},
                        {"scorer", names[at]},
                        {"scored_samples", mean.samples()},
                        {"unscored_samples", samples_ - mean.samples()},
                        {"params", json::object()},
                        {"metrics", std::move(metrics)}});
    }
    return {{"total_samples", samples_ + not_ended},
            {"completed_samples", completed_},
            {"scores", std::move(scores)}};
  }

  json::object stats() const {
    json::object usage;
    if (input_tokens_ + output_tokens_ > 0)
      usage[model()] = json::object{{"input_tokens", input_tokens_},
                                    {"output_tokens", output_tokens_},
                                    {"total_tokens", input_tokens_ + output_tokens_}};
    return {{"started_at", to_text(began())},
            {"completed_at", to_text(ended_.value_or(began()))},
            {"model_usage", std::move(usage)}};
  }

 private:
  std::size_t samples_ = 0;
  std::size_t completed_ = 0;
  int epochs_ = 1;
  std::map<std::string, std::size_t> ids_;
  std::map<std::string, std::size_t> models_;
  std::array<Mean, 3> means_;
  std::optional<Moment> began_;
  std::optional<Moment> ended_;
  std::int64_t input_tokens_ = 0;
  std::int64_t output_tokens_ = 0;
};

json::object spec_of(const Totals& totals, const std::optional<store::RunFacts>& facts,
                     const InspectOptions& options) {
  Moment created = totals.began();
  json::object metadata;
  std::string model = totals.model();
  std::string identity = options.task_name;
  if (facts) {
    created = moment_of(facts->info.created_at).value_or(created);
    identity = facts->info.created_at + json::serialize(facts->info.settings);
    model = string_at(facts->info.settings, "model").value_or(model);
    metadata = {{"settings", facts->info.settings},
                {"program_version", facts->info.program_version},
                {"git_revision", facts->info.git_revision}};
  }
  std::string id = sha256_hex(identity).substr(0, run_id_digits);
  json::array scorers;
  for (const char* name : {counts_scorer, correct_scorer, speedup_scorer})
    scorers.push_back(json::object{{"name", name}});
  return {{"eval_id", id},
          {"run_id", id},
          {"created", to_text(created)},
          {"task", options.task_name},
          {"task_id", id},
          {"task_version", 0},
          {"task_display_name", options.task_name},
          {"task_attribs", json::object()},
          {"task_args", json::object()},
          {"dataset", json::object{{"name", options.task_name}, {"samples", totals.tasks()}}},
          {"model", model},
          {"model_generate_config", json::object()},
          {"model_args", json::object()},
          {"config", json::object{{"epochs", totals.epochs()}}},
          {"packages", json::object{{"kernelwright", options.program_version}}},
          {"scorers", std::move(scorers)},
          {"metadata", std::move(metadata)}};
}

json::object plan_of(const std::optional<store::RunFacts>& facts) {
  json::array steps;
  if (facts) steps.push_back(json::object{{"solver", "kernelwright run"}, {"params", facts->info.settings}});
  return {{"name", "plan"}, {"steps", std::move(steps)}, {"config", json::object()}};
}

// The list of samples is one member at the end of the archive: until then it is in a file of its own.
class Summaries {
 public:
  explicit Summaries(NewFile file) : file_(std::move(file)) {}

  Result<> add(const json::object& summary) {
    return write((bytes_ == 0 ? "[\n" : ",\n") + json_text(summary));
  }
  Result<> put_into(ZipFile& log) {
    if (auto ended = write(bytes_ == 0 ? "[]" : "\n]"); !ended) return ended;
    if (auto flushed = file_.flush(); !flushed) return flushed;
    return log.add_file("summaries.json", file_.neighbour(), bytes_);
  }

 private:
  Result<> write(const std::string& text) {
    bytes_ += text.size();
    return file_.write(text);
  }

  NewFile file_;  // never finished, so its destructor deletes it
  std::uint64_t bytes_ = 0;
};

bool has_anything(const Trace& trace) {
  return !trace.prompt.empty() || std::ranges::any_of(trace.rounds, [](const Conversation& round) {
    return !round.turns.empty() || !round.error.empty();
  });
}

// Epochs number the samples of a task. A number that another sample has, in files of several runs, becomes
// the next free one.
class Epochs {
 public:
  int take(const std::string& id, std::size_t sample_number) {
    constexpr std::size_t most = 1'000'000'000;
    auto& [taken, next] = by_id_[id];
    int epoch = static_cast<int>(std::min(sample_number, most)) + 1;
    if (!taken.insert(epoch).second) {
      while (!taken.insert(next).second) ++next;
      epoch = next;
    }
    return epoch;
  }

 private:
  struct Taken {
    std::set<int> taken;
    int next = 1;
  };
  std::map<std::string, Taken> by_id_;
};

Result<Exported> add_samples(store::TraceReader& reader, ZipFile& log, Summaries& summaries, Totals& totals) {
  Exported exported;
  Epochs epochs;
  while (true) {
    auto trace = reader.next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) return exported;
    if (!has_anything(**trace)) {
      ++exported.without_any;
      continue;
    }
    std::string id = sample_id((*trace)->task.task_id);
    Sample sample = sample_of(**trace, id, epochs.take(id, (*trace)->sample_number));
    std::string name = fmt::format("samples/{}_epoch_{}.json", sample.id, sample.epoch);
    if (auto added = log.add(name, json_text(sample.whole)); !added) return std::unexpected(added.error());
    if (auto added = summaries.add(sample.summary); !added) return std::unexpected(added.error());
    totals.add(sample);
    ++exported.traces;
  }
}

Result<> add_header(ZipFile& log, const Totals& totals, const std::optional<store::RunFacts>& facts,
                    std::size_t not_ended, const InspectOptions& options) {
  json::object start{
      {"version", log_version}, {"eval", spec_of(totals, facts, options)}, {"plan", plan_of(facts)}};
  if (auto added = log.add("_journal/start.json", json_text(start)); !added) return added;
  json::object header{{"version", log_version},
                      {"status", not_ended == 0 ? "success" : "cancelled"},
                      {"eval", start["eval"]},
                      {"plan", start["plan"]},
                      {"results", totals.results(not_ended)},
                      {"stats", totals.stats()}};
  return log.add("header.json", json_text(header));
}

}  // namespace

Result<Exported> write_inspect_log(store::TraceReader& reader, const fs::path& path,
                                   const InspectOptions& options) {
  auto facts = reader.facts();
  if (!facts) return std::unexpected(facts.error());
  auto log = ZipFile::create(path);
  if (!log) return std::unexpected(log.error());
  json::object about{{"program_version", options.program_version}};
  if (auto begun = log->add(std::string(first_member), json_text(about)); !begun)
    return std::unexpected(begun.error());
  fs::path list = path;
  auto list_file = NewFile::create(list += ".samples");
  if (!list_file) return std::unexpected(list_file.error());
  Summaries summaries(std::move(*list_file));
  Totals totals;
  auto exported = add_samples(reader, *log, summaries, totals);
  if (!exported) return exported;
  if (*facts) exported->not_ended = (*facts)->summary.traces - (*facts)->summary.ended;
  if (exported->traces == 0) return exported;
  if (auto added = summaries.put_into(*log); !added) return std::unexpected(added.error());
  if (auto added = add_header(*log, totals, *facts, exported->not_ended, options); !added)
    return std::unexpected(added.error());
  if (auto finished = log->finish(); !finished) return std::unexpected(finished.error());
  return exported;
}

bool is_inspect_log(const fs::path& path) {
  constexpr std::size_t local_header_bytes = 30;  // of ZIP, before the name
  std::ifstream file(path, std::ios::binary);
  std::string head(local_header_bytes + first_member.size(), '\0');
  if (!file.read(head.data(), static_cast<std::streamsize>(head.size()))) return false;
  return head.starts_with("PK\x03\x04") && head.ends_with(first_member);
}

}  // namespace kw::exports
