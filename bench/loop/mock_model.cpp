// mock_model PLAN: an OpenAI-compatible server whose answers take as long as the plan says. Prints its URL
// and serves until its standard input ends.
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cstdio>

#include "base/async/loop.h"
#include "base/http/server.h"
#include "loop/plan.h"

namespace {

namespace json = boost::json;
using namespace kw;

struct Place {
  std::string task;
  std::size_t turn = 1;
};

// "TASK/SAMPLE/ROUND/TURN", as the client names its requests.
Place place_of(const http::Request& request) {
  std::string id(http::header(request.headers, "X-Request-Id"));
  Place place;
  std::size_t last = id.rfind('/');
  if (last == std::string::npos) return place;
  std::from_chars(id.data() + last + 1, id.data() + id.size(), place.turn);
  place.task = id.substr(0, id.find('/'));
  return place;
}

std::string event(const json::value& value) {
  return "data: " + json::serialize(value) + "\n\n";
}

json::object chunk(std::string_view key, std::string text, const char* finish) {
  json::object delta;
  if (!key.empty()) delta[key] = std::move(text);
  json::value reason = finish ? json::value(finish) : json::value(nullptr);
  json::object choice{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(reason)}};
  return {{"id", "mock"},
          {"object", "chat.completion.chunk"},
          {"model", "mock"},
          {"choices", {std::move(choice)}}};
}

std::string words(std::size_t bytes) {
  constexpr std::string_view word = "so the tile fits and the mask holds; ";
  std::string text;
  while (text.size() < bytes) text += word;
  text.resize(bytes);
  return text;
}

// A comment in the code tells the judge which answer it judges.
std::string code(const Place& place, std::size_t bytes) {
  std::string head = fmt::format(
      "<triton>\n# {} turn {}\nimport torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\n"
      "def kernel(x, BLOCK: tl.constexpr):\n    pass\n\n\ndef triton_kernel_wrapper(x):\n    return x\n",
      place.task, place.turn);
  while (head.size() + 10 < bytes) head += "y = triton.cdiv(1024, 128) + 1  # filling\n";
  return head + "</triton>";
}

async::Task<> answer(const bench::Plan* plan, const http::Request* request, http::Responder* responder) {
  if (request->url.ends_with("/models")) {
    json::object model{{"id", "mock"}, {"object", "model"}, {"owned_by", "vllm"}, {"max_model_len", 131072}};
    json::object list{{"object", "list"}, {"data", {std::move(model)}}};
    co_await responder->send({200, {{"Content-Type", "application/json"}}, json::serialize(list)});
    co_return;
  }
  Place place = place_of(*request);
  auto task = plan->tasks.find(place.task);
  if (task == plan->tasks.end() || place.turn < 1 || place.turn > task->second.turns.size()) {
    co_await responder->send({404, {}, R"({"error": {"message": "no such turn in the plan"}})"});
    co_return;
  }
  double each_ms = task->second.turns[place.turn - 1].generation_ms / static_cast<double>(plan->pieces);
  auto started = async::SteadyClock::now();
  co_await responder->begin({200, {{"Content-Type", "text/event-stream"}}, {}});
  for (std::size_t piece = 1; piece <= plan->pieces; ++piece) {
    // Measured from the start, so that delays do not add up.
    co_await async::sleep_until({started + std::chrono::microseconds(static_cast<long>(
                                               each_ms * 1000 * static_cast<double>(piece)))});
    bool last = piece == plan->pieces;
    std::string text = last ? event(chunk("content", code(place, plan->content_bytes), nullptr))
                            : event(chunk("reasoning", words(plan->reasoning_bytes / plan->pieces), nullptr));
    if (!co_await responder->write(std::move(text))) co_return;
  }
  json::object usage{{"prompt_tokens", 1500}, {"completion_tokens", 6000}, {"total_tokens", 7500}};
  json::object end = chunk("", "", "stop");
  end["usage"] = std::move(usage);
  if (co_await responder->write(event(end) + "data: [DONE]\n\n")) co_await responder->end();
}

async::Task<> until_input_ends(async::Loop* loop) {
  boost::asio::posix::stream_descriptor input(*loop, ::dup(0));
  char byte = 0;
  try {
    while (co_await input.async_read_some(boost::asio::buffer(&byte, 1), boost::asio::use_awaitable) > 0) {
    }
  } catch (const std::exception&) {
  }
  loop->stop();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: mock_model PLAN\n", stderr), 2;
  auto plan = bench::read_plan(argv[1]);
  if (!plan) return fmt::print(stderr, "error: {}\n", plan.error().what), 1;
  async::Loop loop;
  auto server =
      http::Server::listen(loop, {}, [&plan](const http::Request& request, http::Responder& responder) {
        return answer(&*plan, &request, &responder);
      });
  if (!server) return fmt::print(stderr, "error: {}\n", server.error().what), 1;
  fmt::print("{}/v1\n", (*server)->url());
  std::fflush(stdout);
  boost::asio::co_spawn(loop, until_input_ends(&loop), boost::asio::detached);
  loop.run();
}
