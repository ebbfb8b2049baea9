// A session over a verifier whose verdicts the test states.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "mcp/explain_tool.h"
#include "mcp/judge.h"
#include "mcp/session.h"
#include "mcp/task_tools.h"
#include "mcp/verify_tool.h"
#include "support/run_task.h"
#include "support/world.h"

namespace kw::mcp::test {

namespace json = boost::json;

inline constexpr const char* reference =
    "def reference_impl(x):\n    return x\n\n\ndef get_inputs():\n    return []\n";
inline constexpr const char* initialize_text =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})";
inline constexpr const char* kernel = "import triton\n\n\ndef triton_kernel_wrapper(x):\n    return x\n";

inline Verdict correct_verdict(const Job& job) {
  Verdict verdict;
  restamp(verdict, job);
  verdict.status = Status::correct;
  verdict.stage = Stage::run;
  verdict.counts = true;
  verdict.trust = Trust::interpreter;
  verdict.timing.why_null = "no GPU: speed is not measured";
  return verdict;
}

inline Verdict failed_verdict(const Job& job) {
  Verdict verdict = correct_verdict(job);
  verdict.status = Status::failed;
  verdict.counts.reset();
  verdict.fault = Fault::kernel;
  verdict.error_class = ErrorClass::out_of_bounds;
  verdict.error = "OutOfBounds: out-of-bounds load in triton_kernel_wrapper, line 5";
  verdict.error_detail.emplace();
  verdict.error_detail->line = 5;
  return verdict;
}

class FakeVerifier : public verify::Verifier {
 public:
  explicit FakeVerifier(async::Loop& loop) : gate_(loop) { gate_.set(); }

  async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop& stop) override {
    judged.push_back(job);
    co_await async::within(async::Deadline::never(), &stop, gate_.wait());
    if (stop.requested()) {
      ++stopped;
      co_return std::nullopt;
    }
    co_return verdict(job);
  }
  std::size_t width() const override { return 32; }
  const std::string& protocol() const override { return protocol_; }
  std::string protocol_with(const JobOptions& options) const override {
    return protocol_ + json::serialize(options_json(options));
  }

  void hold() { gate_.reset(); }
  void release() { gate_.set(); }

  std::function<Verdict(const Job&)> verdict = correct_verdict;
  std::vector<Job> judged;
  int stopped = 0;

 private:
  async::Event gate_;
  std::string protocol_ = "p";
};

class FakeJudge : public Judge {
 public:
  explicit FakeJudge(verify::SharedVerifier& verifier) : verifier_(verifier) {}
  async::Task<Result<verify::SharedVerifier*>> ready(std::function<void(std::string_view)> say) override {
    say("starting Python with PyTorch");
    ++asked;
    if (failure) co_return std::unexpected(*failure);
    co_return &verifier_;
  }
  std::optional<Error> failure;
  int asked = 0;

 private:
  verify::SharedVerifier& verifier_;
};

struct World {
  World() { restart(); }
  ~World() {
    stop.request("the test ends");
    verifier.release();
    settle();
  }

  // With the tools for `root` and `tasks`, and a new session.
  void restart() {
    offer.program_version = "1.2.3";
    offer.instructions = "verify";
    offer.tools.clear();
    offer.tools.push_back(verify_tool({.judge = judge, .root = root, .tasks = tasks, .beat = beat}));
    if (tasks != nullptr) {
      offer.tools.push_back(list_tasks_tool(*tasks));
      offer.tools.push_back(get_task_tool(*tasks, refine::PromptStyle::wrapper));
    }
    offer.tools.push_back(explain_tool());
    session = std::make_shared<Session>(loop, stop, offer);
  }

  // Runs what can go on now.
  void settle() {
    loop.restart();
    loop.run_for(std::chrono::milliseconds(20));
  }
  void until(const std::function<bool()>& so) {
    const auto limit = async::Deadline::in(std::chrono::seconds(20));
    while (!so() && !limit.passed()) settle();
    ASSERT_TRUE(so());
  }

  // The answer to a text; empty: none.
  std::string send(const std::string& text) {
    auto answer =
        kw::test::run_task(loop, Session::answer(session, read_incoming(text),
                                                 [this](std::string notice) { told.push_back(notice); }));
    return answer.value_or("");
  }
  json::object ask(const std::string& method, json::object params = {}) {
    json::object request{{"jsonrpc", "2.0"}, {"id", ++id}, {"method", method}, {"params", std::move(params)}};
    std::string answer = send(json::serialize(request));
    EXPECT_NE(answer, "") << method;
    return answer.empty() ? json::object() : json::parse(answer).get_object();
  }
  json::object initialize(const std::string& version = "2025-11-25") {
    return ask("initialize", {{"protocolVersion", version},
                              {"capabilities", json::object()},
                              {"clientInfo", {{"name", "test"}, {"version", "0"}}}});
  }
  // The result of a tool.
  json::object call(const std::string& tool, json::object arguments = {}) {
    if (session->protocol().empty()) initialize();
    json::object answer = ask("tools/call", {{"name", tool}, {"arguments", std::move(arguments)}});
    EXPECT_TRUE(answer.contains("result")) << json::serialize(answer);
    return answer["result"].is_object() ? answer["result"].get_object() : json::object();
  }

  // Begins a request whose answer the test awaits later.
  std::shared_ptr<std::optional<std::string>> begin(const std::string& text) {
    auto into = std::make_shared<std::optional<std::string>>();
    auto carry_out = [](std::shared_ptr<Session> of, std::string what, World* world,
                        std::shared_ptr<std::optional<std::string>> to) -> async::Task<> {
      auto answer = co_await Session::answer(std::move(of), read_incoming(what), [world](std::string notice) {
        world->told.push_back(std::move(notice));
      });
      *to = answer.value_or("");
    };
    async::spawn(loop, carry_out(session, text, this, into));
    settle();
    return into;
  }

  async::Loop loop;
  async::Stop stop{loop};
  FakeVerifier verifier{loop};
  verify::SharedVerifier shared{loop, stop, verifier, {}};
  FakeJudge judge{shared};
  const RootFolder* root = nullptr;
  TaskCatalog* tasks = nullptr;
  std::chrono::milliseconds beat{5'000};
  Offer offer;
  std::shared_ptr<Session> session;
  std::vector<std::string> told;
  int id = 0;
};

inline std::string text_of(const json::object& result) {
  return std::string(result.at("content").at(0).at("text").get_string());
}
inline bool is_error(const json::object& result) {
  return result.at("isError").get_bool();
}
inline int code_of(const json::object& answer) {
  return answer.contains("error") ? answer.at("error").at("code").to_number<int>() : 0;
}
// Of the verdict in a result.
inline json::value field(const json::object& result, std::string_view name) {
  return result.at("structuredContent").at(name);
}
inline json::object pair(const std::string& code = kernel) {
  return {{"reference", reference}, {"kernel", code}};
}
inline std::string call_text(const json::value& id, const std::string& code = kernel,
                             const json::object& meta = {}) {
  return json::serialize(
      json::object{{"jsonrpc", "2.0"},
                   {"id", id},
                   {"method", "tools/call"},
                   {"params", {{"name", "verify"}, {"arguments", pair(code)}, {"_meta", meta}}}});
}

}  // namespace kw::mcp::test
