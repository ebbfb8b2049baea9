#include "score/report/ask_rows.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <utility>

#include "base/async/loop.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "base/rows/rows.h"
#include "score/report/holes.h"

namespace kw::scoring {
namespace json = boost::json;
namespace {

using llm::ChatFault;

// The server counts as unreachable after so many consecutive failed requests.
constexpr std::size_t most_failed = 10;

// Of an answer that fills a hole, without --max-tokens: more than any body in a row of usual length.
constexpr std::uint64_t hole_tokens = 2048;

Turn turn_of(llm::ChatAnswer answer) {
  Turn turn;
  turn.completion = std::move(answer.content);
  turn.reasoning = std::move(answer.reasoning);
  turn.model = std::move(answer.model);
  turn.finish_reason = std::move(answer.finish_reason);
  turn.usage = answer.usage;
  turn.generation_ms = answer.total_ms;
  turn.answered_at = utc_now();
  return turn;
}

Trace trace_of(const Question& question, std::size_t sample, const llm::Sampling& sampling) {
  Trace trace;
  trace.task.task_id = question.id;
  trace.task.source = "row";
  trace.task.sample_key = question.id;
  trace.sample_number = sample;
  trace.prompt = question.messages;
  if (question.continuation) trace.prompt = {{"user", question.continuation->prompt}};
  trace.sampling = llm::to_json(sampling);
  return trace;
}

Result<Message> message_of(const json::value& value) {
  const json::object* object = value.if_object();
  const json::value* content = object ? object->if_contains("content") : nullptr;
  if (!content) return fail("the prompt is a list whose items are not messages");
  auto text = table::text_of(json::array{value});
  if (!text) return std::unexpected(text.error());
  return Message{string_at(*object, "role").value_or("user"), std::move(*text)};
}

}  // namespace

Result<Question> question_of(const PromptRow& row, const ReadOptions& options) {
  Question question;
  question.id = text_at(row.fields, "id").value_or(fmt::format("row_{}", row.number));
  const json::value* prompt = row.fields.if_contains(options.columns.prompt);
  if (!prompt) return fail(fmt::format("the row has no \"{}\"", options.columns.prompt));
  if (prompt->is_string()) {
    std::string text(prompt->get_string());
    if (auto hole = hole_of(row.fields, text)) {
      question.messages.push_back({"user", chat_prompt_of(*hole)});
      question.continuation = continuation_of(*hole, std::move(text));
      return question;
    }
    question.messages.push_back({"user", std::move(text)});
    return question;
  }
  if (!prompt->is_array() || prompt->get_array().empty())
    return fail("the prompt is neither text nor a list of messages");
  for (const json::value& value : prompt->get_array()) {
    auto message = message_of(value);
    if (!message) return std::unexpected(message.error());
    question.messages.push_back(std::move(*message));
  }
  return question;
}

RowAsker::RowAsker(async::Loop& loop, async::Stop& stop, llm::ChatClient& chat, store::TraceLog& log,
                   AskOptions options)
    : loop_(loop),
      stop_(stop),
      chat_(chat),
      log_(log),
      options_(std::move(options)),
      requests_(loop, options_.in_flight) {}

async::Task<Result<>> RowAsker::run(const std::vector<Question>& questions) {
  for (std::size_t sample = 0; sample < options_.samples; ++sample)
    for (const Question& question : questions) {
      auto place = co_await requests_.take(stop_);
      if (!place || !ended_) break;
      auto ended = [this, &question, held = std::move(place)](const std::exception_ptr& thrown) {
        if (thrown) broke_off(fail(fmt::format("{}: {}", question.id, async::what_of(thrown))));
      };
      async::spawn(loop_, ask(question, sample), std::move(ended));
    }
  // Taking all places waits for all requests.
  std::vector<async::Semaphore::Place> all;
  while (all.size() < std::max<std::size_t>(1, options_.in_flight)) all.push_back(co_await requests_.take());
  co_return ended_;
}

async::Task<> RowAsker::ask(const Question& question, std::size_t sample) {
  if (auto kept = co_await keep(question, sample); !kept) broke_off(std::move(kept));
}

void RowAsker::broke_off(Result<> why) {
  if (ended_) ended_ = std::move(why);
}

async::Task<Result<>> RowAsker::keep(const Question& question, std::size_t sample) {
  store::TraceKey key{question.id, sample};
  auto found = co_await log_.find(key);
  if (!found) co_return std::unexpected(found.error());
  if (*found && !(*found)->ended_at.empty()) {
    if (options_.answered) options_.answered(question.id, "answered before", true);
    co_return Result<>();
  }
  Trace trace = trace_of(question, sample, options_.sampling);
  if (auto begun = co_await log_.begin(key, trace); !begun) co_return begun;
  co_return co_await take(key, co_await request(question, sample));
}

async::Task<std::expected<llm::ChatAnswer, llm::ChatFailure>> RowAsker::request(const Question& question,
                                                                                std::size_t sample) {
  llm::ChatRequest request;
  request.id = fmt::format("{}/{}/0/1", question.id, sample);
  request.messages = question.messages;
  request.sampling = options_.sampling;
  if (request.sampling.seed) *request.sampling.seed += static_cast<std::int64_t>(sample);
  if (question.continuation && !lacks_completions_) {
    llm::ChatRequest continued = request;
    continued.continuation = question.continuation;
    if (!continued.sampling.max_tokens) continued.sampling.max_tokens = hole_tokens;
    auto answer = co_await chat_.chat(continued);
    if (answer || answer.error().fault != ChatFault::no_completions) co_return answer;
    bool is_known = std::exchange(lacks_completions_, true);
    if (!is_known && options_.note)
      options_.note(fmt::format("note: {}; fill-in rows are asked by chat completions", answer.error().what));
  }
  co_return co_await chat_.chat(request);
}

async::Task<Result<>> RowAsker::take(const store::TraceKey& key,
                                     std::expected<llm::ChatAnswer, llm::ChatFailure> answer) {
  Conversation conversation;
  if (!answer && answer.error().fault == ChatFault::empty) {
    llm::ChatAnswer partial = std::move(answer.error().partial);
    answer = std::move(partial);
  }
  if (answer) {
    failed_in_row_ = 0;
    conversation.turns.push_back(turn_of(std::move(*answer)));
    conversation.stop_reason = StopReason::max_turns_reached;
    if (auto saved = co_await log_.save(key, 0, conversation.turns.back()); !saved) co_return saved;
  } else {
    const llm::ChatFailure& failure = answer.error();
    if (failure.fault == ChatFault::stopped || stop_.requested()) co_return Result<>();
    bool of_the_model = failure.fault == ChatFault::context_overflow || failure.fault == ChatFault::refused;
    if (!of_the_model) {
      unanswered_.push_back(fmt::format("{}: {}: {}", key.task_id, to_string(failure.fault), failure.what));
      if (++failed_in_row_ < most_failed) co_return Result<>();
      co_return fail(
          fmt::format("{} requests in a row failed, the last one with: {}", failed_in_row_, failure.what),
          "check the model server; the same command then continues");
    }
    conversation.stop_reason =
        failure.fault == ChatFault::refused ? StopReason::refused : StopReason::context_overflow;
    conversation.error = failure.what;
  }
  if (options_.answered)
    options_.answered(key.task_id, conversation.turns.empty() ? conversation.error : "answered", false);
  co_return co_await log_.end(key, 0, conversation, true);
}

}  // namespace kw::scoring
