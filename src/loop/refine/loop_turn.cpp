#include <fmt/format.h>

#include <exception>
#include <memory>

#include "base/core/text.h"
#include "code/answers/extraction.h"
#include "loop/refine/conversations.h"
#include "loop/refine/loop_state.h"
#include "loop/refine/prompt.h"
#include "types/job.h"

namespace kw::refine {
namespace {

using llm::ChatFault;

// The number of consecutive failed requests that breaks off a run: for an unreachable server, and for one
// that answers only with errors.
constexpr std::size_t most_unreachable = 5;
constexpr std::size_t most_failed = 25;

Turn turn_of(llm::ChatAnswer answer, std::size_t number) {
  Turn turn;
  turn.turn = number;
  turn.code = extract_code(answer.content);
  turn.completion = std::move(answer.content);
  turn.reasoning = std::move(answer.reasoning);
  turn.model = std::move(answer.model);
  turn.finish_reason = std::move(answer.finish_reason);
  turn.usage = answer.usage;
  turn.generation_ms = answer.total_ms;
  turn.answered_at = utc_now();
  return turn;
}

Job job_of(const OpenTrace& open, const Turn& turn, const std::string& kernel_name) {
  Job job;
  job.id = verdict_id(open, turn.turn);
  job.sample_number = open.key.sample_number;
  job.task = open.trace.task;
  job.candidate.code = turn.code;
  job.candidate.kernel_name = kernel_name;
  return job;
}

}  // namespace

void Loop::State::go_on(OpenTracePtr open, Phase phase) {
  if (phase == Phase::judge)
    start(judge(std::move(open)));
  else if (phase == Phase::decide)
    start(decide(std::move(open)));
  else if (phase == Phase::ask && !open->conversation().turns.empty())
    queue.requeue(std::move(open));
  else if (phase == Phase::ask)
    queue.add(std::move(open));
  pump();
}

async::Task<> Loop::State::enter(OpenTracePtr open) {
  auto found = co_await log.find(open->key);
  --entering;
  if (!found) co_return break_off(found.error());
  if (*found) {
    open->trace = std::move(**found);
    open->drop_reasoning();
    Phase phase = take_up(open->trace, settings);
    if (phase == Phase::over && hooks.ended) hooks.ended(open->trace, true);
    co_return go_on(std::move(open), phase);
  }
  open->trace.prompt = opening_messages(open->trace.task, settings);
  open->trace.sampling = llm::to_json(settings.sampling);
  if (!kept(co_await log.begin(open->key, open->trace))) co_return;
  go_on(open, take_up(open->trace, settings));
}

llm::ChatRequest Loop::State::request_for(const OpenTrace& open) const {
  std::size_t turn = open.conversation().turns.size() + 1;
  llm::ChatRequest request;
  request.id = fmt::format("{}/{}/{}/{}", open.key.task_id, open.key.sample_number, open.round(), turn);
  request.messages = messages_of(open.trace, open.conversation());
  // Servers refuse an empty message of the assistant.
  for (Message& message : request.messages)
    if (message.role == "assistant" && message.content.empty()) message.content = "(no answer)";
  request.sampling = settings.sampling;
  if (request.sampling.seed)
    *request.sampling.seed += static_cast<std::int64_t>(
        (open.key.sample_number * 2 + open.round()) * turn_cap(settings) + turn - 1);
  return request;
}

async::Task<> Loop::State::ask(OpenTracePtr open, async::Semaphore::Place place) {
  llm::ChatRequest request = request_for(*open);
  std::expected<llm::ChatAnswer, llm::ChatFailure> answer;
  try {
    answer = co_await chat.chat(request);
  } catch (const std::exception& thrown) {
    answer = std::unexpected(llm::ChatFailure{ChatFault::malformed, thrown.what(), "", {}, 1});
  }
  // The next request does not wait until this answer is stored and judged.
  place.give_back();
  pump();
  changed.set();
  // A direct assignment would destroy the failure before its member is moved.
  if (!answer && answer.error().fault == ChatFault::empty) {
    llm::ChatAnswer partial = std::move(answer.error().partial);
    answer = std::move(partial);
  }
  if (answer)
    co_await take_answer(std::move(open), std::move(*answer));
  else
    co_await take_failure(std::move(open), std::move(answer.error()));
}

async::Task<> Loop::State::take_answer(OpenTracePtr open, llm::ChatAnswer answer) {
  ++answers;
  failed_in_row = 0;
  auto& turns = open->conversation().turns;
  turns.push_back(turn_of(std::move(answer), turns.size() + 1));
  if (!kept(co_await log.save(open->key, open->round(), turns.back()))) co_return;
  open->drop_reasoning();
  // By itself, so that the request with its copy of the conversation is freed before the verdict.
  go_on(std::move(open), Phase::judge);
}

async::Task<> Loop::State::take_failure(OpenTracePtr open, llm::ChatFailure failure) {
  if (failure.fault == ChatFault::stopped || ending())
    co_return;  // the trace stays open: the next run asks again
  if (failure.fault == ChatFault::context_overflow)
    co_return co_await finish(std::move(open), StopReason::context_overflow, failure.what);
  if (failure.fault == ChatFault::refused)
    co_return co_await finish(std::move(open), StopReason::refused, failure.what);
  if (is_hopeless(failure)) co_return;
  co_await finish(std::move(open), StopReason::generation_failed,
                  fmt::format("{}: {}", to_string(failure.fault), failure.what));
}

// Breaks off the run if the server no longer answers, so that the remaining tasks do not all fail.
bool Loop::State::is_hopeless(const llm::ChatFailure& failure) {
  ++failed_in_row;
  last_failure = failure;
  last_failure->partial = {};
  bool gone = failure.fault == ChatFault::unreachable || failure.fault == ChatFault::unauthorised;
  if (failed_in_row < (gone ? most_unreachable : most_failed)) return false;
  break_off(
      {fmt::format("{} requests in a row failed, the last one with: {}", failed_in_row, failure.what),
       failure.remedy.empty() ? "check the model server; the same command then continues" : failure.remedy});
  return true;
}

async::Task<> Loop::State::judge(OpenTracePtr open) {
  Turn& turn = open->conversation().turns.back();
  auto before = co_await checks.of(turn.code, turn.finish_reason == "length", stop);
  if (!before) co_return;  // stopped: the next run judges the answer
  const auto job = std::make_shared<const Job>(job_of(*open, turn, before->kernel_name));
  if (before->verdict) {
    turn.verdict = std::move(before->verdict);
    turn.verdict->environment.protocol = verifier.protocol();
    turn.verdict->environment.program_version = settings.program_version;
    restamp(*turn.verdict, *job);
  } else {
    auto judged = co_await shared.verify(job, stop);
    if (!judged) co_return;  // stopped: the next run judges the answer
    turn.verdict = std::move(*judged);
  }
  if (!kept(co_await log.save_judgement(open->key, open->round(), turn))) co_return;
  if (hooks.judged) hooks.judged(open->trace, turn);
  co_await decide(std::move(open));
}

// The stored verdict on equal work, of this run or an earlier one.
async::Task<std::optional<Verdict>> Loop::State::known(std::string work) {
  auto found = co_await log.known_verdict(work);
  if (found) co_return std::move(*found);
  break_off(found.error());
  co_return std::nullopt;
}

async::Task<> Loop::State::decide(OpenTracePtr open) {
  Turn& turn = open->conversation().turns.back();
  NextStep next = next_step(*open, settings);
  if (next.end) co_return co_await finish(std::move(open), *next.end, std::move(next.why));
  turn.feedback = std::move(next.feedback);
  if (!kept(co_await log.save_judgement(open->key, open->round(), turn))) co_return;
  std::string().swap(turn.code);  // the log has it, and the next request holds the whole answer
  go_on(std::move(open), Phase::ask);
}

async::Task<> Loop::State::finish(OpenTracePtr open, StopReason reason, std::string explanation) {
  bool last = end_conversation(*open, reason, std::move(explanation), settings);
  if (!kept(co_await log.end(open->key, open->round(), open->conversation(), last))) co_return;
  if (!last) {
    open->trace.rounds.emplace_back();
    co_return go_on(std::move(open), Phase::ask);
  }
  if (hooks.ended) hooks.ended(open->trace, false);
}

}  // namespace kw::refine
