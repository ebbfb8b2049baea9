// run_loop PLAN URL IN_FLIGHT DB_FOLDER: the loop with its real client and store against the mock server;
// judging only takes the planned time. Prints one JSON object.
#include <fmt/format.h>
#include <sys/resource.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cstdlib>

#include "base/async/wait.h"
#include "loop/model_client/openai_client.h"
#include "loop/plan.h"
#include "loop/refine/loop.h"
#include "loop/run_store/run_store.h"
#include "types/job.h"

namespace {

using namespace kw;

class PlannedTasks : public Source {
 public:
  explicit PlannedTasks(const bench::Plan& plan) : next_(plan.tasks.begin()), end_(plan.tasks.end()) {}
  Result<std::optional<JobOrError>> next() override {
    if (next_ == end_) return std::optional<JobOrError>();
    Job item;
    item.task.task_id = next_->first;
    item.task.source = "bench";
    item.task.reference_code = "import torch\n# " + std::string(1700, '.') + "\n";
    ++next_;
    return std::optional<JobOrError>(std::move(item));
  }

 private:
  std::map<std::string, bench::PlannedTask>::const_iterator next_, end_;
};

// "# TASK turn N" in the code identifies the answer.
class PlannedVerdicts : public verify::Verifier {
 public:
  explicit PlannedVerdicts(const bench::Plan& plan) : plan_(plan) {}
  async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop&) override {
    const bench::PlannedTask& task = plan_.tasks.at(job.task.task_id);
    std::size_t turn = 0;
    std::size_t at = job.candidate.code.find(" turn ");
    std::from_chars(job.candidate.code.data() + at + 6, job.candidate.code.data() + at + 8, turn);
    co_await async::sleep_until(async::Deadline::in(
        std::chrono::milliseconds(static_cast<long>(task.turns.at(turn - 1).verification_ms))));
    Verdict verdict;
    verdict.task_id = job.task.task_id;
    verdict.candidate_sha256 = candidate_sha256(job.candidate.code);
    bool right = turn == task.turns.size() && task.solved;
    verdict.status = right ? Status::correct : Status::incorrect;
    verdict.stage = Stage::done;
    if (right) verdict.counts = true;
    if (!right) verdict.fault = Fault::kernel, verdict.error_class = ErrorClass::wrong_value;
    verdict.environment.protocol = protocol_;
    co_return verdict;
  }
  std::size_t width() const override { return plan_.verifications; }
  const std::string& protocol() const override { return protocol_; }
  std::string protocol_with(const JobOptions&) const override { return protocol_; }

 private:
  const bench::Plan& plan_;
  std::string protocol_ = "planned";
};

struct World {
  bench::Plan plan;
  std::string url, folder;
  std::size_t in_flight = 0;
  async::Loop loop;
  async::Stop stop{loop};
  std::size_t turns = 0, traces = 0;
  double wall_s = 0;
  std::string error;
};

async::Task<Result<>> drive(World* world) {
  llm::ServerOptions options;
  options.base_url = world->url;
  options.in_flight = world->in_flight;
  auto chat = co_await llm::OpenAiClient::connect(world->loop, world->stop, std::move(options));
  if (!chat) co_return std::unexpected(chat.error());
  auto store = store::RunStore::open(world->loop, world->folder, store::RunInfo{}, /*fresh=*/true);
  if (!store) co_return std::unexpected(store.error());
  PlannedVerdicts verifier(world->plan);
  PlannedTasks tasks(world->plan);
  refine::Settings settings;
  settings.multi_turn = true;
  settings.max_turns = world->plan.max_turns;
  settings.retry_failed = false;
  settings.requests_in_flight = world->in_flight;
  refine::Hooks hooks{[world](const Trace&, const Turn&) { ++world->turns; },
                      [world](const Trace&, bool) { ++world->traces; }, [](const RowError&) {}};
  refine::Loop loop(world->loop, world->stop, **chat, verifier, **store, settings, std::move(hooks));
  auto started = async::SteadyClock::now();
  auto ended = co_await loop.run(tasks);
  world->wall_s = async::ms_since(started) / 1000;
  co_return ended;
}

async::Task<> run(World* world) {
  auto ended = co_await drive(world);
  if (!ended) world->error = ended.error().what;
  world->loop.stop();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::fputs("usage: run_loop PLAN URL IN_FLIGHT FOLDER\n", stderr), 2;
  World world;
  auto plan = bench::read_plan(argv[1]);
  if (!plan) return fmt::print(stderr, "error: {}\n", plan.error().what), 1;
  world.plan = std::move(*plan);
  world.url = argv[2];
  world.in_flight = std::strtoul(argv[3], nullptr, 10);
  world.folder = argv[4];
  boost::asio::co_spawn(world.loop, run(&world), boost::asio::detached);
  world.loop.run();
  if (!world.error.empty()) return fmt::print(stderr, "error: {}\n", world.error), 1;
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  auto seconds = [](timeval time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  boost::json::object result{{"who", "kernelwright"},
                             {"in_flight", world.in_flight},
                             {"traces", world.traces},
                             {"turns", world.turns},
                             {"wall_s", world.wall_s},
                             {"cpu_s", seconds(use.ru_utime) + seconds(use.ru_stime)},
                             {"peak_rss_mb", static_cast<double>(use.ru_maxrss) / 1024}};
  fmt::print("{}\n", boost::json::serialize(result));
}
