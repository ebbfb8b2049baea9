#include "llm/chat.h"

namespace kw::llm {

boost::json::object to_json(const Sampling& sampling) {
  boost::json::object object;
  if (sampling.temperature) object["temperature"] = *sampling.temperature;
  if (sampling.top_p) object["top_p"] = *sampling.top_p;
  if (sampling.seed) object["seed"] = *sampling.seed;
  if (sampling.max_tokens) object["max_tokens"] = *sampling.max_tokens;
  if (!sampling.reasoning_effort.empty()) object["reasoning_effort"] = sampling.reasoning_effort;
  if (!sampling.chat_template_kwargs.empty()) object["chat_template_kwargs"] = sampling.chat_template_kwargs;
  return object;
}

std::string_view to_string(ChatFault fault) {
  switch (fault) {
    case ChatFault::unreachable:
      return "unreachable";
    case ChatFault::overloaded:
      return "overloaded";
    case ChatFault::server_error:
      return "server_error";
    case ChatFault::unauthorised:
      return "unauthorised";
    case ChatFault::bad_request:
      return "bad_request";
    case ChatFault::context_overflow:
      return "context_overflow";
    case ChatFault::refused:
      return "refused";
    case ChatFault::empty:
      return "empty";
    case ChatFault::malformed:
      return "malformed";
    case ChatFault::timeout:
      return "timeout";
    case ChatFault::stopped:
      return "stopped";
  }
  return "?";
}

}  // namespace kw::llm
