#include <fmt/format.h>

#include "base/core/json.h"
#include "loop/tasks/kernelbench_results.h"
#include "report/model/fill.h"
#include "report/model/object_file.h"
#include "report/model/source.h"
#include "report/model/words.h"
#include "score/report/result.h"

namespace kw::report {
namespace json = boost::json;
namespace {

// JSON lines of `verify`, or a list of them.
class VerdictSource : public Source {
 public:
  using Source::Source;

  Result<json::object> detail(std::size_t row) override {
    auto fields = read_object(path(), places_[row]);
    if (!fields) return std::unexpected(fields.error());
    auto verdict = verdict_from_json(*fields);
    if (!verdict) return std::unexpected(verdict.error());
    return detail_of(*verdict, std::move(*fields), table_.rows.key[row]);
  }

 protected:
  Result<> read_all(const Sink& sink) override {
    places_.clear();
    return each_object(
        path(), [&](PlacedObject object) { return add(std::move(object), sink); },
        [&](const Error& error) { damaged(error.what); });
  }

 private:
  Result<> add(PlacedObject object, const Sink& sink) {
    if (!object.fields) {
      damaged(fmt::format("row {}: {}", object.number, object.fields.error().what));
      return {};
    }
    auto verdict = verdict_from_json(*object.fields);
    if (!verdict) {
      damaged(fmt::format("row {}: {}", object.number, verdict.error().what));
      return {};
    }
    if (leave_out(licence_of(*object.fields))) return {};
    std::string name =
        verdict->id.empty() ? fmt::format("{}~{}", verdict->task_id, verdict->sample_number) : verdict->id;
    std::size_t row = add_row(unique_key(name));
    fill_verdict(*verdict, *object.fields, options().least, table_.rows);
    fill_evidence(*object.fields, table_.rows);
    JudgedCode code = code_of(*verdict, *object.fields);
    table_.counts[row] = {.kernels = code.candidate.empty() ? 0U : 1U,
                          .references = code.reference.empty() ? 0U : 1U,
                          .verdicts = 1};
    environment_facts(*verdict);
    places_.push_back(object.place);
    if (!sink) return {};
    return sink(row, detail_of(*verdict, std::move(*object.fields), table_.rows.key[row]));
  }

  JudgedCode code_of(const Verdict& verdict, const json::object& fields) const {
    JudgedCode code;
    if (options().code_of && !verdict.candidate_sha256.empty())
      code = options().code_of(verdict.candidate_sha256);
    if (code.candidate.empty()) code.candidate = string_at(fields, "kernel_code").value_or("");
    if (code.reference.empty()) code.reference = string_at(fields, "reference_code").value_or("");
    return code;
  }

  json::object detail_of(const Verdict& verdict, json::object fields, std::string_view key) {
    JudgedCode code = code_of(verdict, fields);
    json::object detail{
        {"kind", "verdict"},
        {"key", key},
        {"verdict", std::move(fields)},
        {"reference_code", text_or_null(code.reference)},
        {"kernel_code", text_or_null(code.candidate)},
        {"explained", explained(verdict, {.candidate = code.candidate, .reference = code.reference})}};
    clean(detail);
    return detail;
  }

  std::vector<ObjectPlace> places_;  // by row
};

// KernelBench's eval_results.json, as a whole in memory.
class KernelBenchSource : public Source {
 public:
  using Source::Source;

  Result<json::object> detail(std::size_t row) override {
    const Verdict& verdict = verdicts_[row];
    json::object detail{{"kind", "verdict"},           {"key", table_.rows.key[row]},
                        {"verdict", to_json(verdict)}, {"reference_code", nullptr},
                        {"kernel_code", nullptr},      {"explained", explained(verdict, {})}};
    clean(detail);
    return detail;
  }

 protected:
  Result<> read_all(const Sink& sink) override {
    verdicts_.clear();
    auto results = read_kernelbench_results(path());
    if (!results || !*results) {
      damaged(results ? "it is no result of KernelBench any more" : results.error().what);
      return {};
    }
    for (const RowError& error : (*results)->bad_rows) damaged(describe(error));
    fact("recorded_by", recorded_by_kernelbench);
    verdicts_ = std::move((*results)->verdicts);
    for (const Verdict& verdict : verdicts_) {
      std::size_t row = add_row(unique_key(fmt::format("{}~{}", verdict.task_id, verdict.sample_number)));
      fill_verdict(verdict, {}, options().least, table_.rows);
      table_.counts[row].verdicts = 1;
    }
    for (std::size_t row = 0; sink && row < verdicts_.size(); ++row) {
      auto one = detail(row);
      if (!one) return std::unexpected(one.error());
      if (auto given = sink(row, std::move(*one)); !given) return given;
    }
    return {};
  }

 private:
  std::vector<Verdict> verdicts_;  // by row
};

// A result of `score`: no rows.
class ScoreSource : public Source {
 public:
  using Source::Source;

  Result<json::object> detail(std::size_t) override { return fail("a score has no rows"); }
  json::object extra() const override { return result_; }

 protected:
  Result<> read_all(const Sink&) override {
    result_.clear();
    auto result = scoring::read_result(path());
    if (!result) {
      damaged(result.error().what);
      return {};
    }
    result_ = std::move(*result);
    for (const char* part : {"scored", "protocol", "machine"})
      if (const json::value* value = result_.if_contains(part); value && value->is_object())
        flat_facts(part, value->get_object());
    result_.erase("outputs");
    clean(result_);
    return {};
  }

 private:
  json::object result_;
};

}  // namespace

std::unique_ptr<Source> verdict_source(SourceParts parts) {
  return std::make_unique<VerdictSource>(std::move(parts));
}

std::unique_ptr<Source> kernelbench_source(SourceParts parts) {
  return std::make_unique<KernelBenchSource>(std::move(parts));
}

std::unique_ptr<Source> score_source(SourceParts parts) {
  return std::make_unique<ScoreSource>(std::move(parts));
}

}  // namespace kw::report
