#include "verify.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/core/counted.h"
#include "base/core/display.h"
#include "loop/tasks/kernelbench.h"
#include "loop/tasks/kernelbench_results.h"
#include "options/shared_flags.h"
#include "output/results.h"
#include "session.h"
#include "verifier_source.h"

namespace kw::app {
namespace {

std::expected<SourcePtr, InputError> open_jobs(const VerifyFlags& flags) {
  auto source = flags.input.open(parquet_helper(flags.settings.python));
  if (source && flags.output.limit)
    return first_jobs(std::move(*source), *flags.output.limit, BadRows::counted);
  return source;
}

std::string candidate_line(const Job& job) {
  return fmt::format("{}  {}  {} bytes", visible_line(job.id), visible_line(job.task.task_id),
                     job.candidate.code.size());
}

async::Task<Result<>> judge_candidates(Session* session, SourcePtr source, Report* report,
                                       EvaluatorPlan plan) {
  if (plan.local) {
    report->look_up_refusals({plan.local->settings, plan.local->program_version});
    Ahead ahead = look_ahead(
        std::move(source), [](const Job& job) { return !verify::is_refused_by_source(job); },
        [report](const RowError& error) { report->bad_row(error); });
    source = std::move(ahead.source);
    plan.by_source_alone = !ahead.needs_more;
  }
  report->starting(start_words(plan));
  auto evaluator = co_await VerifierSource::start(session->loop, session->stop, std::move(plan),
                                                  [report](const std::string& line) { report->say(line); });
  if (!evaluator) co_return std::unexpected(evaluator.error());
  report->started(**evaluator);
  Pipeline pipeline(session->loop, session->stop, (*evaluator)->verifier(), report->hooks());
  auto ended = co_await pipeline.run(*source);
  co_await (*evaluator)->end();
  co_return ended;
}

async::Task<int> run_verify(Session* session, SourcePtr source, Report* report, EvaluatorPlan plan) {
  auto ended = co_await judge_candidates(session, std::move(source), report, std::move(plan));
  report->finish(ended && !session->interrupted());
  if (ended || session->interrupted()) co_return report->exit_status();
  complain(ended.error());
  co_return exit_failure;
}

}  // namespace

void VerifyFlags::add(CLI::App& app) {
  input.add(app);
  add_settings(app, settings);
  evaluator.add(app);
  output.add(app);
  table.add(app);
}

int verify(const VerifyFlags& flags, const CLI::App& verb) {
  if (flags.input.is_empty()) {
    complain(
        {"no input was given", "give REFERENCE KERNEL, or a file or folder; `kernelwright verify --help`"});
    return exit_usage;
  }
  for (const auto& fits : {flags.evaluator.check(verb), flags.table.check()})
    if (!fits) {
      complain(fits.error());
      return exit_usage;
    }
  auto source = open_jobs(flags);
  if (!source) {
    complain(source.error());
    return source.error().is_usage ? exit_usage : exit_failure;
  }
  if (flags.output.dry_run) return dry_run(**source, candidate_line);
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
  const std::optional<std::size_t> total = (*source)->total();
  Report report(flags, std::move(*sink), total);
  Session session;
  int status =
      session.run([&] { return run_verify(&session, std::move(*source), &report, std::move(*plan)); },
                  [&] { report.tick(); });
  if (status == exit_interrupted) fmt::print(stderr, "{}\n", report.interruption(total));
  return status;
}

Report::Report(const VerifyFlags& flags, ResultSink sink, std::optional<std::size_t> total)
    : flags_(flags),
      sink_(std::move(sink)),
      progress_({stderr, is_terminal(STDERR_FILENO), flags.output.quiet}, total),
      shown_(flags.table) {}

void Report::started(VerifierSource& evaluator) {
  progress_.wait_for("");
  if (flags_.output.verbose) {
    for (const std::string& line : evaluator.words()) say(line);
    say(fmt::format("ready after {:.1f} s", seconds()));
  }
  start_ = async::SteadyClock::now();
}

PipelineHooks Report::hooks() {
  return {[this](const Job& job, const Verdict& verdict) { return judged(job, verdict); },
          [this](const RowError& error) { bad_row(error); },
          [this](const Job& job, const std::string& work) { return done_before(job, work); },
          [this](const std::string& work) { return sink_.equal(work).value_or(std::nullopt); }};
}

void Report::trouble(const Error& error) {
  progress_.say("error: " + error.what + (error.remedy.empty() ? "" : "; " + error.remedy));
  exit_status_ = 1;
}

Result<> Report::judged(const Job& job, const Verdict& verdict) {
  if (auto written = sink_.write(verdict, job.carried); !written) return written;
  add_row(job, verdict);
  progress_.done(job.id, in_words(rows_.back()), seconds());
  return {};
}

void Report::add_row(const Job& job, const Verdict& verdict) {
  rows_.push_back(result_row(verdict, job.recorded, flags_.settings.min_trust));
  rows_.back().position = job.position;
  shown_.add(rows_.back(), verdict, {.candidate = job.candidate.code, .reference = job.task.reference_code},
             {.candidate = job.candidate.origin, .reference = job.task.origin});
  bool none = verdict.status == Status::error && verdict.fault == Fault::infrastructure;
  if (none) every_row_judged_ = false;
  bool wrong = verdict.status == Status::incorrect || verdict.status == Status::failed;
  if (none || (wrong && flags_.output.fail_on_incorrect)) exit_status_ = 1;
  if (auto place = kernelbench_place(job.task.task_id, job.sample_number)) {
    place->verdict = verdict;
    kernelbench_.push_back(std::move(*place));
  }
}

void Report::bad_row(const RowError& error) {
  progress_.say("error: " + describe(error));
  shown_.add(error);
  ++bad_rows_;
  every_row_judged_ = false;
  exit_status_ = 1;
}

// A refusal by the source alone has a protocol of its own where no other row needed Python.
Result<std::optional<Verdict>> Report::stored(const Job& job, const std::string& work) const {
  auto verdict = sink_.done(row_of(job, work));
  if (!verdict || *verdict || !by_source_ || !verify::is_refused_by_source(job)) return verdict;
  return sink_.done(row_of(job, verify::work_key(job, *by_source_)));
}

Result<bool> Report::done_before(const Job& job, const std::string& work) {
  auto verdict = stored(job, work);
  if (!verdict) return std::unexpected(verdict.error());
  if (!*verdict) return false;
  if (auto shown = sink_.show(**verdict, job.carried); !shown) return std::unexpected(shown.error());
  add_row(job, **verdict);
  progress_.skipped();
  return true;
}

void Report::tick() {
  progress_.tick(seconds());
}

void Report::finish(bool to_end) {
  progress_.finish();
  if (auto folder = run_folder(); !folder.empty() && !kernelbench_.empty()) write_into(folder);
  const bool is_table = flags_.table.format == VerdictForm::table && !flags_.output.json;
  const bool says_words = !rows_.empty() && !flags_.output.quiet;
  // A file for another program is written without verdicts, too.
  if (is_table ? says_words : !flags_.output.json)
    if (auto printed = shown_.print(to_end && every_row_judged_); !printed) trouble(printed.error());
  if (says_words) fmt::print(is_table ? stdout : stderr, "{}", for_log(in_words(summarise(rows_))));
  if (bad_rows_ > 0 && !flags_.output.quiet)
    fmt::print(says_words && is_table ? stdout : stderr, "{} could not be read\n", counted(bad_rows_, "row"));
}

void Report::write_into(const std::string& run_folder) {
  auto renamed = write_kernelbench_results(run_folder, kernelbench_);
  if (!renamed) return trouble(renamed.error());
  for (const std::filesystem::path& aside : *renamed)
    say(fmt::format("note: an earlier file of another form was renamed to {}", aside.string()));
}

std::string Report::interruption(std::optional<std::size_t> total) const {
  std::string count = fmt::format("{}", rows_.size());
  if (total) count += fmt::format(" of {}", *total);
  if (flags_.output.output.empty())
    return fmt::format(
        "interrupted; the verdicts so far ({}) are not stored: with --output FILE the same command goes on",
        count);
  return fmt::format("interrupted; {} keeps the verdicts so far ({}); the same command goes on",
                     flags_.output.output, count);
}

// The judged KernelBench run, named by a flag or recognised; empty for other input.
std::string Report::run_folder() const {
  std::string named = flags_.input.kernelbench_run;
  if (named.empty() && flags_.input.paths.size() == 1) named = flags_.input.paths.front();
  std::error_code ignored;
  if (named.empty() || !std::filesystem::is_directory(named, ignored)) return {};
  return find_run_folder(named).value_or("");
}

}  // namespace kw::app
