// load URL CLIENTS SECONDS [WARM_S [TASK_ID]]: clients of an evaluation service, each of which submits an
// evaluation of its own, asks for it in one long poll until it is done, and repeats. Prints one JSON object
// about the answers after the first WARM_S seconds (1). With TASK_ID, requests name that task in place of its
// reference.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>

#include "base/http/client.h"

namespace {

using namespace kw;
using namespace std::chrono_literals;
namespace json = boost::json;

constexpr std::size_t reference_bytes = 1'700;
constexpr std::size_t kernel_bytes = 2'000;

struct Load {
  Load(std::string at, std::size_t count, double warm_s, double seconds)
      : url(std::move(at) + "/v1/evaluations"),
        clients(count),
        client(loop, {.connect_timeout = 60s, .idle_connections = count}),
        from(async::Deadline::in(std::chrono::milliseconds(static_cast<long>(warm_s * 1000)))),
        to(async::Deadline::in(std::chrono::milliseconds(static_cast<long>((warm_s + seconds) * 1000)))) {}

  std::string url;
  std::size_t clients;
  async::Loop loop;
  http::Client client;
  async::Deadline from, to;
  std::vector<double> submit_ms, poll_ms;
  std::size_t answered = 0;  // includes those before `from`
  std::map<std::string, std::size_t> failures;
  std::string task_id{};       // empty: requests contain the reference
  std::size_t sent_bytes = 0;  // of the bodies of submissions
  std::size_t submissions = 0;
};

std::string submission(Load* load, const std::string& id) {
  json::object fields{{"id", id}, {"kernel_code", "# " + id + "\n" + std::string(kernel_bytes, '#')}};
  if (load->task_id.empty())
    fields["reference_code"] = std::string(reference_bytes, '#');
  else
    fields["task_id"] = load->task_id;
  std::string body = json::serialize(fields);
  load->sent_bytes += body.size();
  ++load->submissions;
  return body;
}

// The answer's body; nothing after a failure, which is counted.
async::Task<std::optional<std::string>> ask(Load* load, http::Request request, std::vector<double>* times) {
  auto began = async::SteadyClock::now();
  auto answer = co_await load->client.send(request, async::Deadline::in(100s), nullptr);
  bool counts = load->from.passed() && !load->to.passed();
  if (!answer || answer->status / 100 != 2) {
    ++load->failures[answer ? fmt::format("status {}", answer->status) : answer.error().what];
    co_await async::sleep_until(async::Deadline::in(50ms));
    co_return std::nullopt;
  }
  ++load->answered;
  if (counts) times->push_back(async::ms_since(began));
  co_return std::move(answer->body);
}

async::Task<> one_client(Load* load, std::size_t number) {
  for (std::size_t count = 0; !load->to.passed(); ++count) {
    std::string id = fmt::format("{}-{}-{}", ::getpid(), number, count);
    if (!co_await ask(load, {"POST", load->url, {{"Content-Type", "application/json"}}, submission(load, id)},
                      &load->submit_ms))
      continue;
    for (std::string state = "queued"; state != "done" && !load->to.passed();) {
      auto body = co_await ask(load, {"GET", load->url + "/" + id + "?wait_s=30"}, &load->poll_ms);
      if (body) state = json::parse(*body).at("state").as_string();
    }
  }
}

json::object summed_up(std::vector<double> times) {
  std::ranges::sort(times);
  auto at = [&](double share) {
    return times.empty() ? 0 : times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  return {{"count", times.size()}, {"p50_ms", at(0.5)}, {"p99_ms", at(0.99)}, {"most_ms", at(1)}};
}

double cpu_s() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  auto seconds = [](timeval time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 6)
    return std::fputs("usage: load URL CLIENTS SECONDS [WARM_S [TASK_ID]]\n", stderr), 2;
  const double seconds = std::strtod(argv[3], nullptr);
  Load load(argv[1], std::strtoul(argv[2], nullptr, 10), argc >= 5 ? std::strtod(argv[4], nullptr) : 1,
            seconds);
  if (argc == 6) load.task_id = argv[5];
  for (std::size_t number = 0; number < load.clients; ++number)
    boost::asio::co_spawn(load.loop, one_client(&load, number), [](const std::exception_ptr& thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
  load.loop.run();
  json::object failures(load.failures.begin(), load.failures.end());
  fmt::print(
      "{}\n",
      json::serialize(json::object{
          {"clients", load.clients},
          {"seconds", seconds},
          {"answered", load.answered},
          {"requests_a_second", static_cast<double>(load.submit_ms.size() + load.poll_ms.size()) / seconds},
          {"submit", summed_up(std::move(load.submit_ms))},
          {"poll", summed_up(std::move(load.poll_ms))},
          {"bytes_a_submission", load.sent_bytes / std::max<std::size_t>(1, load.submissions)},
          {"failures", std::move(failures)},
          {"generator_cpu_s", cpu_s()}}));
}
