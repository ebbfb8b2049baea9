#include "loop/model_client/openai_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>

#include "base/async/wait.h"
#include "base/http/client.h"
#include "loop/model_client/answer_reader.h"
#include "loop/model_client/listing.h"
#include "loop/model_client/request.h"
#include "loop/model_client/retry.h"
#include "loop/model_client/server_error.h"

namespace kw::llm {
namespace {

using std::chrono::milliseconds;

// The number of adaptations to refused fields, after which a chat fails.
constexpr std::size_t most_adaptions = 6;

// The result of one request.
struct Exchange {
  std::optional<ChatAnswer> answer;
  RequestFailure trouble;            // if there is no answer
  std::optional<ServerError> error;  // if the server sent one
  std::optional<milliseconds> wished;
  ChatAnswer partial;
};

// The state of one chat across its requests.
struct Course {
  Course(std::uint64_t place, http::BackoffOptions options) : ticket(place), backoff(options) {}

  std::uint64_t ticket;
  http::Backoff backoff;
  std::size_t requests = 0;
  std::size_t failures = 0;
  std::size_t malformed = 0;
  std::size_t adaptions = 0;
  Dialect sent;
  std::optional<std::uint64_t> asked;   // tokens requested last
  std::optional<std::uint64_t> shrunk;  // tokens that fit after an overflow
};

// The texts of which the server counts the tokens.
std::vector<Message> texts_of(const ChatRequest& request) {
  return request.continuation ? std::vector<Message>{{"", request.continuation->prompt}} : request.messages;
}

// Most bytes of a stream are framing around its text.
http::ClientOptions roomy(http::ClientOptions options, std::size_t max_content_bytes) {
  options.max_body_bytes = std::max(options.max_body_bytes, 128 * max_content_bytes);
  return options;
}

}  // namespace

struct OpenAiClient::State {
  State(async::Loop& on, async::Stop& at, ServerOptions given)
      : stop(at),
        options(std::move(given)),
        http(on, roomy(options.http, options.max_content_bytes)),
        gate(on, options.in_flight) {}

  async::Task<Result<>> settle();
  async::Task<Exchange> exchange(const ChatRequest& request, Course& course);
  http::Request prepare(const ChatRequest& request, Course& course) const;
  Exchange judge(std::expected<http::Response, http::Failure> response, AnswerReader& reader, bool late);
  void note(const Exchange& exchange, const ChatRequest& request);
  std::optional<milliseconds> next_try(Course& course, Exchange& exchange, const ChatRequest& request);
  ChatFailure failure(const Course& course, Exchange exchange) const;

  async::Stop& stop;
  ServerOptions options;
  http::Client http;
  Gate gate;
  std::string base_url;
  http::Headers headers;
  ModelInfo model;
  Dialect dialect;
  TokenEstimate tokens;
  std::mt19937_64 random{std::random_device{}()};
  std::optional<std::uint64_t> most_tokens;  // of one answer, as an error of the server stated
  bool reached = false;                      // the server has answered once
};

async::Task<Result<>> OpenAiClient::State::settle() {
  auto listing = co_await list_models(http, options, stop);
  if (!listing) co_return std::unexpected<Error>(listing.error());
  auto chosen = choose_model(*listing, options.model);
  if (!chosen) co_return std::unexpected(chosen.error());
  auto common = common_headers(options);
  if (!common) co_return std::unexpected(common.error());
  model = std::move(*chosen);
  dialect = dialect_of(model.server);
  headers = std::move(*common);
  headers[0].value = options.stream ? "text/event-stream, application/json" : "application/json";
  headers.push_back({"Content-Type", "application/json"});
  base_url = listing->base_url;
  co_return Result<>{};
}

http::Request OpenAiClient::State::prepare(const ChatRequest& request, Course& course) const {
  course.sent = dialect;
  course.asked =
      course.shrunk ? course.shrunk : answer_tokens(model, request.sampling, tokens.of(texts_of(request)));
  if (course.asked && most_tokens) course.asked = std::min(*course.asked, *most_tokens);
  std::string url = base_url + (request.continuation ? "/completions" : "/chat/completions");
  http::Request out{.method = "POST", .url = std::move(url), .headers = headers, .body = {}};
  out.headers.push_back({"X-Request-Id", request_id_header(request.id, course.requests)});
  out.body = request_body(model, request, dialect, course.asked, options.stream);
  if (dialect.limit == Dialect::Limit::none) course.asked.reset();
  return out;
}

async::Task<Exchange> OpenAiClient::State::exchange(const ChatRequest& request, Course& course) {
  ++course.requests;
  http::Request out = prepare(request, course);
  AnswerReader reader(options.max_content_bytes);
  auto start = async::SteadyClock::now();
  std::optional<double> first_ms;
  auto on_body = [&](std::string_view piece) {
    bool more = reader.take(piece);
    if (!first_ms && reader.began()) first_ms = async::ms_since(start);
    return more;
  };
  auto deadline = async::Deadline::in(options.request_timeout);
  auto response = co_await http.send(out, deadline, &stop, on_body);
  Exchange made = judge(std::move(response), reader, deadline.passed());
  if (request.continuation && made.error && lacks_completions(*made.error)) {
    made.trouble.fault = ChatFault::no_completions;
    made.trouble.retry = Retry::never;
  }
  for (ChatAnswer* answer : {made.answer ? &*made.answer : nullptr, &made.partial}) {
    if (!answer) continue;
    answer->total_ms = async::ms_since(start);
    answer->first_token_ms = first_ms;
    answer->attempts = course.requests;
    if (answer->model.empty()) answer->model = model.name;
  }
  note(made, request);
  co_return made;
}

Exchange OpenAiClient::State::judge(std::expected<http::Response, http::Failure> response,
                                    AnswerReader& reader, bool late) {
  Exchange made;
  if (response && response->status / 100 != 2) {
    made.error = read_error(response->status, response->body);
    made.trouble = trouble_of(*made.error);
    made.wished = http::retry_after(response->headers, std::chrono::system_clock::now());
    return made;
  }
  // A failure after the end of the answer does not matter.
  if (!response && !reader.complete()) {
    made.partial = reader.partial();
    made.trouble = trouble_of(response.error(), late);
    if (response.error().fault == http::Fault::unreachable && reached) made.trouble.overloaded = true;
    return made;
  }
  auto answer = reader.finish();
  made.partial = answer ? *answer : reader.partial();
  if (!answer) {
    if (answer.error().flaw == Flaw::error) made.error = answer.error().error;
    made.trouble = trouble_of(answer.error());
  } else if (auto trouble = trouble_in(*answer)) {
    made.trouble = std::move(*trouble);
  } else {
    made.answer = std::move(*answer);
  }
  return made;
}

// Updates the estimate of tokens and the limit of requests.
void OpenAiClient::State::note(const Exchange& made, const ChatRequest& request) {
  if (made.partial.usage.prompt_tokens) tokens.learn(texts_of(request), *made.partial.usage.prompt_tokens);
  if (made.answer) {
    reached = true;
    gate.succeeded();
  } else if (made.trouble.overloaded) {
    gate.overloaded();
  }
}

// The wait before the next request; empty if another request is pointless.
std::optional<milliseconds> OpenAiClient::State::next_try(Course& course, Exchange& made,
                                                          const ChatRequest& request) {
  RequestFailure& trouble = made.trouble;
  if (auto overflow = made.error ? overflow_in(*made.error) : std::nullopt) {
    if (overflow->prompt) tokens.learn(texts_of(request), static_cast<std::int64_t>(*overflow->prompt));
    if (overflow->answer) most_tokens = overflow->answer;
    auto fitting = course.shrunk ? std::nullopt : shrunk(*overflow, course.asked);
    if (fitting) {
      course.shrunk = fitting;
      return milliseconds(0);
    }
    trouble.fault = ChatFault::context_overflow;
    trouble.remedy = "serve the model with a longer context, or allow fewer turns";
    return {};
  }
  if (made.error && course.adaptions < most_adaptions && adapt(dialect, course.sent, *made.error)) {
    ++course.adaptions;
    return milliseconds(0);
  }
  if (trouble.retry == Retry::never) return {};
  if (trouble.retry == Retry::few && ++course.malformed > 2) return {};
  if (++course.failures >= options.max_attempts) return {};
  return course.backoff.next(made.wished, random);
}

ChatFailure OpenAiClient::State::failure(const Course& course, Exchange made) const {
  ChatFailure failure;
  failure.fault = made.trouble.fault;
  failure.what = without_key(std::move(made.trouble.what), options);
  failure.remedy = std::move(made.trouble.remedy);
  failure.partial = std::move(made.partial);
  failure.attempts = course.requests;
  if (stop.requested()) {
    failure.fault = ChatFault::stopped;
    failure.what = fmt::format("stopped: {}", stop.cause());
    failure.remedy.clear();
  } else if (course.failures > 1) {
    failure.what += fmt::format(" (after {} attempts)", course.failures);
  }
  return failure;
}

OpenAiClient::OpenAiClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
OpenAiClient::~OpenAiClient() = default;

async::Task<Result<std::unique_ptr<OpenAiClient>>> OpenAiClient::connect(async::Loop& loop, async::Stop& stop,
                                                                         ServerOptions options) {
  auto state = std::make_unique<State>(loop, stop, std::move(options));
  if (auto settled = co_await state->settle(); !settled) {
    Error error = std::move(settled.error());
    error.what = without_key(std::move(error.what), state->options);
    co_return std::unexpected(std::move(error));
  }
  co_return std::unique_ptr<OpenAiClient>(new OpenAiClient(std::move(state)));
}

async::Task<std::expected<ChatAnswer, ChatFailure>> OpenAiClient::chat(const ChatRequest& request) {
  State& state = *state_;
  Course course(state.gate.ticket(), {state.options.first_backoff, state.options.max_backoff});
  Exchange made;
  while (true) {
    Slot slot = co_await state.gate.enter(course.ticket, &state.stop);
    if (!slot) break;
    made = co_await state.exchange(request, course);
    slot.give_back();
    if (made.answer) co_return std::move(*made.answer);
    auto wait = state.next_try(course, made, request);
    if (!wait) break;
    if (wait->count() > 0) co_await async::pause(*wait, state.stop);
    if (state.stop.requested()) break;
  }
  co_return std::unexpected(state.failure(course, std::move(made)));
}

const ModelInfo& OpenAiClient::model() const {
  return state_->model;
}

std::size_t OpenAiClient::allowed() const {
  return state_->gate.allowed();
}

}  // namespace kw::llm
