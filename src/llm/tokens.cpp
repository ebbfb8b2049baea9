#include "llm/tokens.h"

#include <algorithm>
#include <cmath>

namespace kw::llm {
namespace {

// Of a chat template: around each message, and once.
constexpr double tokens_a_message = 8;
constexpr double tokens_a_chat = 32;
constexpr double margin = 1.03;  // texts differ in tokens a byte

double bytes_of(const std::vector<Message>& messages) {
  std::size_t bytes = 0;
  for (const Message& message : messages) bytes += message.role.size() + message.content.size();
  return static_cast<double>(bytes);
}

}  // namespace

std::uint64_t TokenEstimate::of(const std::vector<Message>& messages) const {
  double template_tokens = tokens_a_chat + tokens_a_message * static_cast<double>(messages.size());
  return static_cast<std::uint64_t>(
      std::ceil(bytes_of(messages) * tokens_a_byte_ * margin + template_tokens));
}

// Follows a higher count at once and a lower one slowly: asking for too much costs a request.
void TokenEstimate::learn(const std::vector<Message>& messages, std::int64_t prompt_tokens) {
  double bytes = bytes_of(messages);
  if (bytes < 64 || prompt_tokens <= 0) return;
  double seen = std::clamp(static_cast<double>(prompt_tokens) / bytes, 0.05, 2.0);
  tokens_a_byte_ = learned_ ? std::max(seen, 0.9 * tokens_a_byte_ + 0.1 * seen) : seen;
  learned_ = true;
}

std::optional<std::uint64_t> answer_tokens(const ModelInfo& model, const Sampling& sampling,
                                           std::uint64_t prompt_tokens) {
  if (!model.max_model_len) return sampling.max_tokens;
  std::uint64_t context = *model.max_model_len;
  std::uint64_t left = context - std::min(context, prompt_tokens);
  left = std::max(left, std::clamp<std::uint64_t>(context / 8, 1, 1024));
  return sampling.max_tokens ? std::min(*sampling.max_tokens, left) : left;
}

}  // namespace kw::llm
