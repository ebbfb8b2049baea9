#include "loop/model_client/chat.h"

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

}  // namespace kw::llm
