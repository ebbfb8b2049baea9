// How many tokens an answer may have, from what the context leaves.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "llm/chat.h"

namespace kw::llm {

// Tokens of a prompt before the server has counted them. It starts with a token for three bytes, more than
// tokenisers need for code and English, and learns the server's own counts.
class TokenEstimate {
 public:
  std::uint64_t of(const std::vector<Message>& messages) const;
  void learn(const std::vector<Message>& messages, std::int64_t prompt_tokens);

 private:
  double tokens_a_byte_ = 1.0 / 3.0;
  bool learned_ = false;
};

// What to ask for: sampling.max_tokens, or what the context leaves if that is less; nothing where neither is
// known. An estimate alone never says that a prompt is too long: something is always asked for.
std::optional<std::uint64_t> answer_tokens(const ModelInfo& model, const Sampling& sampling,
                                           std::uint64_t prompt_tokens);

}  // namespace kw::llm
