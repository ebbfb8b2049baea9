#include "models/parsers.h"

#include <algorithm>

#include "base/ascii.h"

namespace kw::models {
namespace {

struct Row {
  std::string_view part;    // of the name, in lower case
  std::string_view parser;  // empty: this one does not reason
  bool automatic = false;
};

// The first row that fits counts.
constexpr Row rows[] = {
    {"gpt-oss", "openai_gptoss", true},
    {"glm-4.5", "glm45"},
    {"glm-4.6", "glm45"},
    {"glm-4.7", "glm45"},
    {"deepseek-r1", "deepseek_r1"},
    {"kimi-k2-thinking", "kimi_k2"},
    {"magistral", "mistral"},
    {"minimax-m2", "minimax_m2"},
    {"seed-oss", "seed_oss"},
    {"hunyuan-a13b", "hunyuan_a13b"},
    {"qwen3-coder", ""},
    {"qwq", "deepseek_r1"},
};

}  // namespace

std::optional<ReasoningParser> reasoning_parser_of(std::string_view model) {
  std::string name = lower(model);
  auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  for (const Row& row : rows) {
    if (!has(row.part)) continue;
    if (row.parser.empty()) return {};
    return ReasoningParser{std::string(row.parser), row.automatic};
  }
  // Qwen3's later Instruct checkpoints do not reason, all others do.
  if (has("qwen3") && !has("instruct") && !has("embedding") && !has("reranker") && !has("base"))
    return ReasoningParser{"qwen3", false};
  return {};
}

}  // namespace kw::models
