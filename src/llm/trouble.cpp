#include "llm/trouble.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

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
  if (error.status == 402 || has(error.code, "quota")) return "the account at this server is used up";
  for (auto [field, flag] : {std::pair{"chat_template_kwargs", "--chat-template-kwargs"},
                             std::pair{"reasoning_effort", "--reasoning-effort"},
                             std::pair{"temperature", "--temperature"}, std::pair{"top_p", "--top-p"}})
    if (has(error.message, field) || error.param == field)
      return fmt::format("leave out {}, or change it", flag);
  return {};
}

std::string excerpt(std::string_view text) {
  return to_plain_text(shorten(trim(text), 200));
}

}  // namespace

Trouble trouble_of(const ServerError& error) {
  Trouble trouble;
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
      trouble.remedy = "ask for less at once with --batch-size";
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

Trouble trouble_of(const http::Failure& failure, bool late) {
  Trouble trouble;
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
      if (trouble.remedy.empty()) trouble.remedy = "raise --request-timeout, or ask for less at once";
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

Trouble trouble_of(const Flawed& flawed) {
  if (flawed.flaw == Flaw::error) return trouble_of(flawed.error);
  Trouble trouble;
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

std::optional<Trouble> trouble_in(const ChatAnswer& answer) {
  Trouble trouble;
  if (answer.finish_reason == "content_filter") {
    trouble.fault = ChatFault::refused;
    trouble.what = answer.content.empty() ? std::string("the model declined to answer")
                                          : fmt::format("the model declined: {}", excerpt(answer.content));
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
    trouble.remedy = "allow more with --max-tokens, or ask for less thought with --reasoning-effort low";
  } else {
    trouble.what =
        fmt::format("the answer has {} bytes of reasoning and nothing after it", answer.reasoning.size());
    trouble.remedy = "is the server's reasoning parser the one of this model?";
  }
  return trouble;
}

}  // namespace kw::llm
