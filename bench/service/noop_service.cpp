// noop_service STORE WIDTH [FROM_MS TO_MS]: the evaluation service with a verifier that answers at once, or
// after a random time between the two. It has one task, "bench", for requests that name it by id. GET
// /bench/places gives the time for which each number of its places was taken. Prints its URL; ends when its
// input does.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <random>

#include "serve/routes.h"
#include "serve/service.h"
#include "types/job.h"

namespace {

using namespace kw;
namespace json = boost::json;
using std::chrono::milliseconds;

// The time for which each number of places was taken.
class Places {
 public:
  explicit Places(std::size_t width) : ms_(width + 1) {}

  void change(int by) {
    note();
    taken_ += static_cast<std::size_t>(by);
  }

  json::object told() {
    note();
    return {{"ms_with_so_many_taken", json::array(ms_.begin(), ms_.end())}};
  }

 private:
  void note() {
    auto now = async::SteadyClock::now();
    ms_.at(taken_) += std::chrono::duration<double, std::milli>(now - since_).count();
    since_ = now;
  }

  std::vector<double> ms_;
  std::size_t taken_ = 0;
  async::SteadyClock::time_point since_ = async::SteadyClock::now();
};

// All plain fields of an engine's verdict, so that the length is about the same.
Verdict verdict_of(const Job& job) {
  Verdict verdict;
  verdict.id = job.id;
  verdict.task_id = job.task.task_id;
  verdict.candidate_sha256 = candidate_sha256(job.candidate.code);
  verdict.status = Status::correct;
  verdict.stage = Stage::done;
  verdict.counts = true;
  verdict.environment.torch = "2.11.0";
  verdict.environment.triton = "3.6.0";
  verdict.environment.protocol = "noop";
  return verdict;
}

class PlannedTimes : public verify::Verifier {
 public:
  PlannedTimes(std::size_t width, long from_ms, long to_ms)
      : places(width), width_(width), time_ms_(from_ms, to_ms) {}

  async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop&) override {
    places.change(1);
    if (long wait_ms = time_ms_(random_); wait_ms > 0)
      co_await async::sleep_until(async::Deadline::in(milliseconds(wait_ms)));
    places.change(-1);
    co_return verdict_of(job);
  }
  std::size_t width() const override { return width_; }
  const std::string& protocol() const override { return protocol_; }
  std::string protocol_with(const JobOptions&) const override { return protocol_; }

  Places places;

 private:
  std::size_t width_;
  std::uniform_int_distribution<long> time_ms_;
  std::mt19937_64 random_{1};  // the same times in every run
  std::string protocol_ = "noop";
};

constexpr std::size_t reference_bytes = 1'700;  // as load.cpp sends it

service::TaskCataloguePtr one_task() {
  Job job;
  job.task.task_id = "bench";
  job.task.reference_code = std::string(reference_bytes, '#');
  std::vector<JobOrError> items;
  items.emplace_back(std::move(job));
  auto tasks = service::TaskCatalogue::read(*job_list(std::move(items)), [](const RowError&) {});
  return std::make_shared<const service::TaskCatalogue>(std::move(tasks.value()));
}

async::Task<> until_input_ends(async::Loop* loop) {
  boost::asio::posix::stream_descriptor input(*loop, ::dup(STDIN_FILENO));
  char byte = 0;
  try {
    while (co_await input.async_read_some(boost::asio::buffer(&byte, 1), boost::asio::use_awaitable) > 0) {
    }
  } catch (const std::exception&) {  // the input has ended
  }
  loop->stop();
}

int refuse(const Error& error) {
  fmt::print(stderr, "error: {}\n", error.what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 5)
    return std::fputs("usage: noop_service STORE WIDTH [FROM_MS TO_MS]\n", stderr), 2;
  std::signal(SIGPIPE, SIG_IGN);
  async::Loop loop;
  async::Stop stop(loop);
  PlannedTimes verifier(std::strtoul(argv[2], nullptr, 10), argc == 5 ? std::strtol(argv[3], nullptr, 10) : 0,
                        argc == 5 ? std::strtol(argv[4], nullptr, 10) : 0);
  auto service =
      service::Service::open(loop, stop, {.store = argv[1], .tasks = one_task(), .version = "bench"});
  if (!service) return refuse(service.error());
  (*service)->routes().add({.method = "GET", .path = "/bench/places", .endpoint = [&](const service::Call&) {
                              return [](Places* places) -> async::Task<http::Response> {
                                co_return service::json_response(200, places->told());
                              }(&verifier.places);
                            }});
  auto server = http::Server::listen(loop, {}, [&](const http::Request& request, http::Responder& responder) {
    return (*service)->handle(request, responder);
  });
  if (!server) return refuse(server.error());
  (*service)->judge_with(verifier, {});
  fmt::print("{}\n", (*server)->url());
  std::fflush(stdout);
  boost::asio::co_spawn(loop, until_input_ends(&loop), boost::asio::detached);
  loop.run();
}
