#include "loop/model_client/retry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"

namespace kw::llm {
namespace {

bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

std::string remedy_of_bad_request(const ServerError& error) {
  if (error.status == 404)
    return has(error.message, "model") || has(error.code, "model")
               ? "name a model that the server has with --model; `kernelwright doctor --vllm-url URL` lists "
                 "them"
               : "the server's URL should end in /v1";
  if (error.status == 402 || has(error.code, "quota"))
    return "the account's quota on this server is exhausted";
  for (auto [field, flag] : {std::pair{"chat_template_kwargs", "--chat-template-kwargs"},
                             std::pair{"reasoning_effort", "--reasoning-effort"},
                             std::pair{"temperature", "--temperature"}, std::pair{"top_p", "--top-p"}})
    if (has(error.message, field) || error.param == field) return fmt::format("omit or change {}", flag);
  return {};
}

std::string refusal_excerpt(std::string_view text) {
  return to_plain_text(shorten(trim(text), 200));
}

}  // namespace

RequestFailure trouble_of(const ServerError& error) {
  RequestFailure trouble;
  trouble.what = fmt::format("the server answered {}: {}", error.status, error.message);
  bool used_up = has(error.code, "insufficient_quota") || has(error.type, "insufficient_quota");
  switch (error.status) {
    case 401:
    case 403:
      trouble.fault = ChatFault::unauthorised;
      trouble.remedy = "set OPENAI_API_KEY to a key that this server accepts";
      return trouble;
    case 408:
      trouble.fault = ChatFault::timeout;
      trouble.retry = Retry::often;
      return trouble;
    case 429:
    case 503:
    case 529:
      if (used_up) break;
      trouble.fault = ChatFault::overloaded;
      trouble.retry = Retry::often;
      trouble.overloaded = true;
      trouble.remedy = "reduce --batch-size";
      return trouble;
    default:
      break;
  }
  if (error.status >= 500 || error.status == 409 || error.status == 425) {
    trouble.fault = ChatFault::server_error;
    trouble.retry = Retry::often;
    trouble.remedy = "look at the server's log";
    return trouble;
  }
  trouble.fault = ChatFault::bad_request;
  trouble.remedy = remedy_of_bad_request(error);
  return trouble;
}

RequestFailure trouble_of(const http::Failure& failure, bool late) {
  RequestFailure trouble;
  trouble.what = failure.what;
  trouble.remedy = failure.remedy;
  switch (failure.fault) {
    case http::Fault::bad_url:
    case http::Fault::redirected:
      trouble.fault = ChatFault::bad_request;
      break;
    case http::Fault::unreachable:
      trouble.fault = ChatFault::unreachable;
      trouble.retry = Retry::often;
      break;
    case http::Fault::tls:
    case http::Fault::proxy:
      trouble.fault = ChatFault::unreachable;
      break;
    case http::Fault::timeout:
      trouble.fault = ChatFault::timeout;
      trouble.retry = late ? Retry::never : Retry::often;
      if (trouble.remedy.empty()) trouble.remedy = "raise --request-timeout, or reduce --batch-size";
      break;
    case http::Fault::broken:
      trouble.fault = ChatFault::server_error;
      trouble.retry = Retry::often;
      break;
    case http::Fault::malformed:
      trouble.fault = ChatFault::malformed;
      trouble.retry = Retry::few;
      break;
    case http::Fault::too_large:
      trouble.fault = ChatFault::malformed;
      break;
    case http::Fault::stopped:
      trouble.fault = ChatFault::stopped;
      break;
  }
  return trouble;
}

RequestFailure trouble_of(const Flawed& flawed) {
  if (flawed.flaw == Flaw::error) return trouble_of(flawed.error);
  RequestFailure trouble;
  trouble.what = flawed.what;
  if (flawed.flaw == Flaw::cut) {
    trouble.fault = ChatFault::server_error;
    trouble.retry = Retry::often;
    return trouble;
  }
  trouble.fault = ChatFault::malformed;
  trouble.retry = flawed.flaw == Flaw::malformed ? Retry::few : Retry::never;
  return trouble;
}

std::optional<RequestFailure> trouble_in(const ChatAnswer& answer) {
  RequestFailure trouble;
  if (answer.finish_reason == "content_filter") {
    trouble.fault = ChatFault::refused;
    trouble.what = answer.content.empty()
                       ? std::string("the model declined to answer")
                       : fmt::format("the model declined: {}", refusal_excerpt(answer.content));
    return trouble;
  }
  if (answer.finish_reason == "abort" || answer.finish_reason == "error") {
    trouble.fault = ChatFault::server_error;
    trouble.retry = Retry::often;
    trouble.what = fmt::format("the server ended the answer with \"{}\"", answer.finish_reason);
    return trouble;
  }
  if (!trim(answer.content).empty()) return {};
  trouble.fault = ChatFault::empty;
  if (answer.reasoning.empty()) {
    trouble.what = fmt::format("the answer is empty (finish_reason \"{}\")", answer.finish_reason);
  } else if (answer.finish_reason == "length") {
    auto tokens = answer.usage.completion_tokens;
    trouble.what = tokens ? fmt::format("all {} tokens went into reasoning", *tokens)
                          : std::string("all tokens went into reasoning");
    trouble.remedy = "raise --max-tokens, or shorten the reasoning with --reasoning-effort low";
  } else {
    trouble.what =
        fmt::format("the answer has {} bytes of reasoning and nothing after it", answer.reasoning.size());
    trouble.remedy = "check that the server uses this model's reasoning parser";
  }
  return trouble;
}

Gate::Gate(async::Loop& loop, std::size_t most, std::chrono::milliseconds between_cuts)
    : most_(std::max<std::size_t>(most, 1)),
      allowed_(most_),
      between_cuts_(between_cuts),
      slots_(loop, [this] { return allowed_; }) {}

async::Task<Slot> Gate::enter(std::uint64_t ticket, async::Stop* stop) {
  return stop != nullptr ? slots_.take(ticket, *stop) : slots_.take(ticket);
}

void Gate::overloaded() {
  successes_ = 0;
  auto now = async::SteadyClock::now();
  bool first = last_cut_ == async::SteadyClock::time_point::min();
  if (!first && now - last_cut_ < between_cuts_) return;
  last_cut_ = now;
  allowed_ = std::max<std::size_t>(allowed_ / 2, 1);
}

void Gate::succeeded() {
  if (allowed_ >= most_ || ++successes_ < allowed_) return;
  successes_ = 0;
  ++allowed_;
  slots_.admit();
}

}  // namespace kw::llm
