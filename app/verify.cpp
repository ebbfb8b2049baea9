#include "verify.h"

#include <fmt/format.h>

#include "evaluator.h"
#include "flags/setting_flags.h"
#include "report.h"
#include "session.h"

namespace kw::app {
namespace {

// At most this many jobs of another source.
class Limited : public JobSource {
 public:
  Limited(std::unique_ptr<JobSource> source, std::uint64_t limit)
      : source_(std::move(source)), left_(limit) {}
  Result<std::optional<JobOrError>> next() override {
    if (left_ == 0) return std::optional<JobOrError>();
    --left_;
    return source_->next();
  }
  std::optional<std::size_t> total() const override {
    auto total = source_->total();
    if (total) return std::min<std::size_t>(*total, limit_);
    return total;
  }

 private:
  std::unique_ptr<JobSource> source_;
  std::uint64_t left_;
  std::uint64_t limit_ = left_;
};

Result<std::unique_ptr<JobSource>> open_jobs(const VerifyFlags& flags) {
  auto source = flags.input.open(parquet_helper(flags.settings.python));
  if (source && flags.output.limit) return std::make_unique<Limited>(std::move(*source), *flags.output.limit);
  return source;
}

// Says what would be judged; nothing is run.
int dry_run(JobSource& source) {
  bool bad = false;
  while (true) {
    auto next = source.next();
    if (!next) {
      complain(next.error());
      return 1;
    }
    if (!*next) return bad ? 1 : 0;
    if (auto* error = std::get_if<RowError>(&**next)) {
      fmt::print(stderr, "error: {}\n", describe(*error));
      bad = true;
    } else {
      const Job& job = std::get<Job>(**next);
      fmt::print("{}  {}  {} bytes\n", job.id, job.task.task_id, job.candidate.code.size());
    }
  }
}

async::Task<Result<>> judge_all(Session* session, JobSource* source, Report* report, EvaluatorPlan plan) {
  auto evaluator = co_await Evaluator::start(session->loop, session->stop, std::move(plan),
                                             [report](const std::string& line) { report->say(line); });
  if (!evaluator) co_return std::unexpected(evaluator.error());
  report->started(**evaluator);
  Pipeline pipeline(session->loop, session->stop, (*evaluator)->verifier(), report->hooks());
  auto ended = co_await pipeline.run(*source);
  co_await (*evaluator)->end();
  co_return ended;
}

async::Task<int> run_verify(Session* session, JobSource* source, Report* report, EvaluatorPlan plan) {
  auto ended = co_await judge_all(session, source, report, std::move(plan));
  report->finish();
  if (ended || session->stop.requested()) co_return report->exit_status();
  complain(ended.error());
  co_return exit_failure;
}

}  // namespace

void VerifyFlags::add(CLI::App& app) {
  input.add(app);
  add_settings(app, settings);
  evaluator.add(app);
  output.add(app);
}

int verify(const VerifyFlags& flags, const CLI::App& verb) {
  if (flags.input.is_empty()) {
    complain({"nothing to judge was named",
              "give REFERENCE KERNEL, or a file or folder; `kernelwright verify --help`"});
    return exit_usage;
  }
  if (auto fits = flags.evaluator.check(verb); !fits) {
    complain(fits.error());
    return exit_usage;
  }
  auto source = open_jobs(flags);
  if (!source) {
    complain(source.error());
    return 1;
  }
  if (flags.output.dry_run) return dry_run(**source);
  auto plan = plan_evaluator(flags.evaluator, flags.settings, {flags.output.output, flags.output.fresh});
  if (!plan) {
    complain(plan.error());
    return 1;
  }
  auto sink = ResultSink::open({flags.output.output, flags.output.fresh, flags.output.json});
  if (!sink) {
    complain(sink.error());
    return 1;
  }
  if (auto owner = own_processes(); !owner) {
    complain(owner.error());
    return exit_failure;
  }
  Report report(flags, std::move(*sink), (*source)->total());
  Session session;
  return session.run([&] { return run_verify(&session, source->get(), &report, std::move(*plan)); },
                     [&] { report.tick(); });
}

}  // namespace kw::app
