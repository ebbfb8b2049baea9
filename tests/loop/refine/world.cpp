#include "world.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kw::test {
namespace {

async::Task<bool> until(std::shared_ptr<async::Event> event) {
  co_await event->wait();
  co_return event->is_set();
}

// Counts while it lives.
struct Counted {
  Counted(std::size_t& count, std::size_t& most) : count_(count) { most = std::max(most, ++count_); }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  std::size_t& count_;
};

void set(Verdict& verdict, Status status, std::optional<Fault> fault, ErrorClass error_class,
         std::string error) {
  verdict.status = status;
  verdict.fault = fault;
  verdict.error_class = error_class;
  verdict.error = std::move(error);
}

}  // namespace

std::string code(const std::string& words) {
  return "import triton\n\n@triton.jit\ndef kernel(): pass\n\ndef triton_kernel_wrapper(x):\n    return x  "
         "# " +
         words + "\n";
}

std::string answer(const std::string& words) {
  return "So.\n<triton>\n" + code(words) + "</triton>\n";
}

Verdict verdict_on(const Job& job) {
  Verdict verdict;
  verdict.id = job.id;
  verdict.task_id = job.task.task_id;
  verdict.candidate_sha256 = candidate_sha256(job.candidate.code);
  verdict.environment.protocol = "p";
  auto says = [&](const char* word) { return job.candidate.code.find(word) != std::string::npos; };
  verdict.status = Status::correct;
  verdict.stage = Stage::done;
  verdict.counts = true;
  verdict.timing.why_null = "no GPU";
  if (says("fast") || says("slow")) {
    verdict.speedup = says("fast") ? 2.0 : 0.5;
    verdict.trust = says("claimed") ? Trust::in_process : Trust::replay;
    verdict.timing.why_null.reset();
  }
  auto lacks = [&](CountsReason reason) {
    verdict.counts = false;
    verdict.counts_reason = reason;
  };
  if (says("library")) lacks(CountsReason::library_only);
  if (says("zero")) lacks(CountsReason::proves_nothing);
  if (says("wrong")) set(verdict, Status::incorrect, Fault::kernel, ErrorClass::wrong_value, "values differ");
  if (says("broken")) set(verdict, Status::failed, Fault::kernel, ErrorClass::runtime_error, "it raised");
  if (says("infra"))
    set(verdict, Status::error, Fault::infrastructure, ErrorClass::infrastructure, "no oracle");
  if (says("invalid")) set(verdict, Status::error, Fault::task, ErrorClass::task_invalid, "bad reference");
  if (says("unsupported"))
    set(verdict, Status::skipped, {}, ErrorClass::unsupported_candidate, "needs a GPU");
  if (says("reduced")) {
    set(verdict, Status::skipped, {}, ErrorClass::too_large, "too large");
    verdict.comparison.emplace();
    verdict.comparison->findings.push_back("at reduced shapes: wrong_value: values differ");
  }
  return verdict;
}

async::Task<bool> Clock::pause(milliseconds time, async::Stop& stop) {
  auto event = std::make_shared<async::Event>(loop_);
  waiting_.emplace(now + time, event);
  auto waited = co_await async::within(async::Deadline::never(), &stop, until(event));
  co_return waited.value.has_value();
}

bool Clock::advance() {
  if (waiting_.empty()) return false;
  now = waiting_.begin()->first;
  while (!waiting_.empty() && waiting_.begin()->first == now) {
    waiting_.begin()->second->set();
    waiting_.erase(waiting_.begin());
  }
  return true;
}

FakeChat::Answer FakeChat::says(const std::string& words) {
  llm::ChatAnswer said;
  said.content = words.empty() ? "" : answer(words);
  said.model = "fake";
  said.finish_reason = "stop";
  return said;
}

FakeChat::Answer FakeChat::fails(llm::ChatFault fault, const std::string& what) {
  return std::unexpected(llm::ChatFailure{fault, what, "", {}, 1});
}

async::Task<FakeChat::Answer> FakeChat::chat(const llm::ChatRequest& request) {
  requests.push_back(request);
  Counted counted(in_flight, most);
  if (time && !co_await clock_.pause(time(request), stop_)) co_return fails(llm::ChatFault::stopped);
  if (stop_.requested()) co_return fails(llm::ChatFault::stopped);
  co_return script(request);
}

async::Task<std::optional<Verdict>> FakeVerifier::verify(const Job& job, async::Stop& stop) {
  jobs.push_back(job);
  Counted counted(in_flight, most);
  if (time && !co_await clock_.pause(time(job), stop)) co_return std::nullopt;
  if (stop.requested()) co_return std::nullopt;
  co_return verdict_on(job);
}

Result<> FakeLog::wrote(std::string what) {
  if (breaks == calls.size()) return fail("the disk is full", "make room");
  calls.push_back(std::move(what));
  after.push_back(traces);
  return {};
}

async::Task<Result<std::optional<Trace>>> FakeLog::find(const store::TraceKey& key) {
  auto found = traces.find(key);
  if (found == traces.end()) co_return std::nullopt;
  co_return found->second;
}

async::Task<Result<>> FakeLog::begin(const store::TraceKey& key, const Trace& trace) {
  Trace kept = trace;
  kept.rounds.clear();
  traces.try_emplace(key, std::move(kept));
  co_return wrote("begin");
}

async::Task<Result<>> FakeLog::save(const store::TraceKey& key, std::size_t round, const Turn& turn) {
  // Takes time, as a real one does.
  co_await boost::asio::post(co_await boost::asio::this_coro::executor, boost::asio::use_awaitable);
  if (breaks == calls.size()) co_return wrote("");
  auto& rounds = traces.at(key).rounds;
  if (rounds.size() <= round) rounds.resize(round + 1);
  auto& turns = rounds[round].turns;
  if (turns.size() < turn.turn) turns.resize(turn.turn);
  turns[turn.turn - 1] = turn;
  co_return wrote("answer");
}

async::Task<Result<>> FakeLog::save_judgement(const store::TraceKey& key, std::size_t round,
                                              const Turn& turn) {
  co_await boost::asio::post(co_await boost::asio::this_coro::executor, boost::asio::use_awaitable);
  if (breaks == calls.size()) co_return wrote("");
  Turn& saved = traces.at(key).rounds.at(round).turns.at(turn.turn - 1);
  saved.verdict = turn.verdict;
  saved.feedback = turn.feedback;
  co_return wrote(turn.feedback.empty() ? "verdict" : "feedback");
}

async::Task<Result<>> FakeLog::end(const store::TraceKey& key, std::size_t round,
                                   const Conversation& conversation, bool last) {
  auto& rounds = traces.at(key).rounds;
  if (rounds.size() <= round) rounds.resize(round + 1);
  rounds[round].stop_reason = conversation.stop_reason;
  rounds[round].error = conversation.error;
  if (last) traces.at(key).ended_at = "now";
  co_return wrote(fmt::format("end {}", to_string(*conversation.stop_reason)));
}

async::Task<Result<std::optional<Verdict>>> FakeLog::known_verdict(const std::string& work) {
  for (const auto& [key, trace] : traces)
    for (const Conversation& round : trace.rounds)
      for (const Turn& turn : round.turns)
        if (turn.verdict && turn.verdict->work == work) co_return turn.verdict;
  co_return std::nullopt;
}

Result<std::optional<JobOrError>> Tasks::next() {
  if (breaks == read) return fail("the source broke", "mend it");
  if (read == names_.size()) return std::nullopt;
  std::size_t at = read++;
  if (bad == at) return RowError{"tasks.jsonl", at + 1, "no reference", ""};
  Job item;
  item.task.task_id = names_[at];
  item.task.reference_code = "def reference_impl(x): return x  # " + names_[at] + "\n";
  return item;
}

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(fmt::format("t{:04}", i));
  return all;
}

Result<> World::run(Source& source) {
  hooks.judged = [this](const Trace& trace, const Turn& judged_turn) {
    judged += judged_turn.verdict ? 1 : 0;
    for (const Conversation& round : trace.rounds)
      for (const Turn& turn : round.turns) reasoning_bytes += turn.reasoning.size();
  };
  hooks.ended = [this](const Trace& trace, bool earlier) {
    ended.push_back(trace.task.task_id);
    if (earlier) resumed.push_back(trace.task.task_id);
  };
  hooks.bad_task = [this](const RowError&) { ++bad_tasks; };
  refine::Loop refine(loop, stop, chat, verifier, log, settings, hooks);
  std::optional<Result<>> result;
  boost::asio::co_spawn(loop, refine.run(source), [&](const std::exception_ptr& thrown, Result<> value) {
    result = thrown ? fail("the run threw") : std::move(value);
  });
  auto go_on = [this, &result] {
    loop.restart();
    if (settings.check_threads > 0) return loop.run_one() > 0;
    loop.poll();
    return result || clock.advance();
  };
  while (!result && go_on()) {
  }
  EXPECT_TRUE(result) << "nobody goes on";
  return result.value_or(fail("nobody goes on"));
}

Result<> World::run(std::size_t tasks) {
  Tasks source(names(tasks));
  return run(source);
}

}  // namespace kw::test
