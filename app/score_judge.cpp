#include <fmt/format.h>
#include <unistd.h>

#include "base/style.h"
#include "evaluator.h"
#include "pipeline.h"
#include "results/progress.h"
#include "results/result_row.h"
#include "results/result_sink.h"
#include "score_parts.h"
#include "session.h"
#include "tasks/sources.h"

namespace kw::app {
namespace {

// Where a job's verdict goes to.
struct Place {
  scoring::Output* output = nullptr;
  scoring::OutputSet* set = nullptr;
};

class Judging {
 public:
  Judging(const ScoreOptions& options, ResultSink sink, std::size_t total)
      : options_(options),
        sink_(std::move(sink)),
        progress_({stderr, is_terminal(STDERR_FILENO), options.flags.quiet}, total) {}

  // Takes the jobs out of the outputs; each set's names are its own.
  std::unique_ptr<JobSource> jobs(std::span<scoring::OutputSet* const> sets);
  async::Task<int> run(Session* session, JobSource* source, EvaluatorPlan plan);
  void tick() { progress_.tick(seconds()); }

 private:
  void judged(const Job& job, const Verdict& verdict);
  bool done_before(const Job& job, const std::string& work);
  void take(const Job& job, const Verdict& verdict);
  PipelineHooks hooks();
  double seconds() const { return async::ms_since(start_) / 1000; }

  const ScoreOptions& options_;
  ResultSink sink_;
  Progress progress_;
  std::map<std::string, Place> places_;
  bool is_broken_ = false;
  async::SteadyClock::time_point start_ = async::SteadyClock::now();
};

std::unique_ptr<JobSource> Judging::jobs(std::span<scoring::OutputSet* const> sets) {
  std::vector<JobOrError> all;
  for (std::size_t i = 0; i < sets.size(); ++i)
    for (scoring::Output& output : sets[i]->outputs) {
      if (!output.job) continue;
      if (i > 0) output.job->id = "before/" + output.job->id;
      places_[output.job->id] = {&output, sets[i]};
      all.emplace_back(std::move(*output.job));
      output.job.reset();
    }
  return list_source(std::move(all));
}

void Judging::take(const Job& job, const Verdict& verdict) {
  Place place = places_.at(job.id);
  place.output->record.verdict =
      scoring::facts_of(verdict, scoring::JudgedBy::here, options_.settings.min_trust);
  place.set->environment = verdict.environment;
}

void Judging::judged(const Job& job, const Verdict& verdict) {
  if (auto written = sink_.write(verdict, job.carried); !written && !is_broken_) {
    is_broken_ = true;
    progress_.say(fmt::format("error: {}; verdicts are not kept", written.error().what));
  }
  take(job, verdict);
  progress_.done(job.id, in_words(result_row(verdict, {}, options_.settings.min_trust)), seconds());
}

bool Judging::done_before(const Job& job, const std::string& work) {
  auto verdict = sink_.done(row_of(job, work));
  if (!verdict || !*verdict) return false;
  take(job, **verdict);
  progress_.skipped();
  return true;
}

PipelineHooks Judging::hooks() {
  return {[this](const Job& job, const Verdict& verdict) { judged(job, verdict); }, [](const RowError&) {},
          [this](const Job& job, const std::string& work) { return done_before(job, work); },
          [this](const std::string& work) { return sink_.equal(work).value_or(std::nullopt); }};
}

async::Task<int> Judging::run(Session* session, JobSource* source, EvaluatorPlan plan) {
  auto evaluator = co_await Evaluator::start(session->loop, session->stop, std::move(plan),
                                             [this](const std::string& line) { progress_.say(line); });
  if (!evaluator) {
    complain(evaluator.error());
    co_return exit_failure;
  }
  Pipeline pipeline(session->loop, session->stop, (*evaluator)->verifier(), hooks());
  auto ended = co_await pipeline.run(*source);
  co_await (*evaluator)->end();
  progress_.finish();
  if (ended) co_return 0;
  complain(ended.error());
  co_return exit_failure;
}

}  // namespace

int judge(const ScoreOptions& options, std::span<scoring::OutputSet* const> sets) {
  auto failed = [](const Error& error) {
    complain(error);
    return exit_failure;
  };
  std::size_t total = 0;
  for (const scoring::OutputSet* set : sets)
    for (const scoring::Output& output : set->outputs) total += output.job.has_value();
  if (total == 0) return 0;
  const std::string verdicts = options.flags.beside(".verdicts.jsonl").string();
  auto plan = plan_evaluator(options.evaluator, options.settings, {verdicts, options.flags.fresh});
  if (!plan) return failed(plan.error());
  auto sink = ResultSink::open({verdicts, options.flags.fresh, false});
  if (!sink) return failed(sink.error());
  Judging judging(options, std::move(*sink), total);
  std::unique_ptr<JobSource> source = judging.jobs(sets);
  Session session;
  int status = session.run([&] { return judging.run(&session, source.get(), std::move(*plan)); },
                           [&] { judging.tick(); });
  if (status == exit_interrupted)
    fmt::print(stderr, "interrupted; verdicts so far are kept: the same command goes on\n");
  return status;
}

}  // namespace kw::app
