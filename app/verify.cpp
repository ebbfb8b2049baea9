#include "verify.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>

#include "confine.h"
#include "host.h"
#include "process/exit_watch.h"
#include "report.h"

namespace kw::app {
namespace {

using namespace std::chrono_literals;

constexpr int interrupted = 130;
constexpr int usage = 2;

void complain(const Error& error) {
  fmt::print(stderr, "error: {}\n", error.what);
  if (!error.remedy.empty()) fmt::print(stderr, "  -> {}\n", error.remedy);
}

HostOptions host_options(const VerifyFlags& flags) {
  HostOptions options;
  options.device = flags.engine.device;
  options.python = flags.engine.python;
  options.jobs = flags.engine.jobs;
  if (flags.engine.memory_bytes > 0) options.memory_bytes = flags.engine.memory_bytes;
  options.allow_unsandboxed = flags.engine.allow_unsandboxed;
  verify::Settings& settings = options.settings;
  settings.correctness_trials = static_cast<std::uint32_t>(flags.correctness.trials);
  settings.timing_trials = static_cast<std::uint32_t>(flags.timing.trials);
  settings.tolerance = {flags.correctness.tolerance.name, flags.correctness.tolerance.rtol,
                        flags.correctness.tolerance.atol};
  settings.precision = flags.correctness.precision;
  settings.tf32 = flags.correctness.tf32;
  settings.move_weights = flags.correctness.move_weights;
  settings.reduce_shapes = flags.correctness.reduce_shapes;
  settings.timeout = std::chrono::milliseconds(static_cast<long>(flags.engine.timeout_s * 1000));
  return options;
}

// The Parquet helper runs under the Python that candidates run under.
ParquetHelper parquet_helper(const VerifyFlags& flags) {
  ParquetHelper helper;
  auto installation = engine::find_installation();
  if (!installation) return helper;
  if (auto python = engine::find_python(flags.engine.python, *installation))
    helper.python = python->path.string();
  for (const auto& folder : installation->python_path)
    if (auto script = folder / "kernelwright/parquet_rows.py"; std::filesystem::exists(script))
      helper.script = script.string();
  return helper;
}

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
  auto source = flags.input.open(parquet_helper(flags));
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

struct Session {
  Session(JobSource& jobs, Report& to) : source(jobs), report(to) {}

  JobSource& source;
  Report& report;
  async::Loop loop;
  async::Stop stop{loop};
  boost::asio::signal_set signals{loop, SIGINT, SIGTERM, SIGHUP};
  int exit_status = 0;
};

async::Task<> keep_time(Session* session) {
  while (true) {
    co_await async::sleep_until(async::Deadline::in(1s));
    session->report.tick();
  }
}

async::Task<Result<>> judge_all(Session* session, verify::LocalVerifier::Options options) {
  session->report.starting(options);
  auto verifier = co_await verify::LocalVerifier::start(session->loop, session->stop, std::move(options));
  if (!verifier) co_return std::unexpected(verifier.error());
  session->report.started((*verifier)->protocol());
  Pipeline pipeline(session->loop, session->stop, **verifier, session->report.hooks());
  auto ended = co_await pipeline.run(session->source);
  co_await (*verifier)->end();
  co_return ended;
}

async::Task<> run(Session* session, verify::LocalVerifier::Options options) {
  auto ended = co_await judge_all(session, std::move(options));
  session->report.finish();
  if (!ended && !session->stop.requested()) {
    complain(ended.error());
    session->exit_status = 1;
  }
  session->loop.stop();
}

}  // namespace

void VerifyFlags::add(CLI::App& app) {
  input.add(app);
  engine.add(app);
  correctness.add(app);
  timing.add(app);
  output.add(app);
}

int verify(const VerifyFlags& flags) {
  if (flags.input.is_empty()) {
    complain({"nothing to judge was named",
              "give REFERENCE KERNEL, or a file or folder; `kernelwright verify --help`"});
    return usage;
  }
  auto source = open_jobs(flags);
  if (!source) {
    complain(source.error());
    return 1;
  }
  if (flags.output.dry_run) return dry_run(**source);
  auto options = on_this_host(host_options(flags));
  if (!options) {
    complain(options.error());
    return 1;
  }
  auto sink = ResultSink::open({flags.output.output, flags.output.fresh, flags.output.json});
  if (!sink) {
    complain(sink.error());
    return 1;
  }
  kw_cgroup_prepare();
  kw_cgroup_sweep("kernelwright");
  if (auto reaper = process::become_subreaper(); !reaper) {
    complain(reaper.error());
    return 1;
  }
  Report report(flags, std::move(*sink), (*source)->total());
  Session session(**source, report);
  session.signals.async_wait([&](boost::system::error_code error, int signal) {
    if (error) return;
    session.stop.request(fmt::format("signal {}", signal));
    // A second one does not wait for order: what is left dies with us.
    session.signals.async_wait([](boost::system::error_code again, int) {
      if (!again) ::_exit(interrupted);
    });
  });
  boost::asio::co_spawn(session.loop, keep_time(&session), boost::asio::detached);
  boost::asio::co_spawn(session.loop, run(&session, std::move(*options)), boost::asio::detached);
  session.loop.run();
  if (session.stop.requested()) return interrupted;
  return std::max(session.exit_status, report.exit_status());
}

}  // namespace kw::app
