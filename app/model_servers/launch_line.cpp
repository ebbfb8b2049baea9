#include "model_servers/launch_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/core/text.h"
#include "model_servers/table.h"

namespace kw::models {
namespace {

using Words = std::vector<std::string>;

// Splits shell text into commands of words.
class Splitter {
 public:
  std::vector<Words> split(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      char c = text[i];
      if (quote_ != 0) {
        if (c == quote_)
          quote_ = 0;
        else
          word_ += c;
      } else if (c == '\\' && i + 1 < text.size()) {
        if (text[++i] != '\n') word_ += text[i];
      } else if (c == '\'' || c == '"') {
        quote_ = c;
        quoted_ = true;
      } else if (c == '#' && word_.empty()) {
        i = std::min(text.find('\n', i), text.size()) - 1;
      } else if (c == ' ' || c == '\t' || c == '(' || c == ')') {
        end_word();
      } else if (c == '\n' || c == ';' || c == '|' || c == '&') {
        end_command();
      } else {
        word_ += c;
      }
    }
    end_command();
    return std::move(commands_);
  }

 private:
  void end_word() {
    if (!word_.empty() || quoted_) command_.push_back(std::exchange(word_, {}));
    quoted_ = false;
  }
  void end_command() {
    end_word();
    if (!command_.empty()) commands_.push_back(std::exchange(command_, {}));
  }

  char quote_ = 0;
  bool quoted_ = false;
  std::string word_;
  Words command_;
  std::vector<Words> commands_;
};

bool starts_vllm(const Words& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word == "vllm.entrypoints.openai.api_server" || word.starts_with("vllm/vllm-openai")) return true;
    bool vllm = word == "vllm" || word.ends_with("/vllm");
    if (vllm && i + 1 < command.size() && command[i + 1] == "serve") return true;
  }
  return false;
}

// The name of a flag, without its value, with "-" for "_".
std::string flag_of(const std::string& word) {
  std::string flag = word.substr(0, word.find('='));
  std::ranges::replace(flag, '_', '-');
  return flag;
}

class Line {
 public:
  explicit Line(Words words) : words_(std::move(words)) {}

  bool has(std::string_view flag) const {
    return std::ranges::any_of(words_, [&](const std::string& word) { return flag_of(word) == flag; });
  }

  // The last value of the flag, as argparse takes it.
  std::optional<std::string> value(std::string_view flag, std::string_view alias = {}) const {
    std::optional<std::string> found;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      std::string name = flag_of(words_[i]);
      if (name != flag && (alias.empty() || name != alias)) continue;
      std::size_t equals = words_[i].find('=');
      if (equals != std::string::npos)
        found = words_[i].substr(equals + 1);
      else if (i + 1 < words_.size())
        found = words_[i + 1];
    }
    return found;
  }

  // "32768", "32k", "32K".
  std::optional<std::uint64_t> number(std::string_view flag, std::string_view alias = {}) const {
    auto text = value(flag, alias);
    if (!text) return {};
    std::uint64_t count = 0;
    auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), count);
    if (error != std::errc()) return {};
    std::string_view unit(end, static_cast<std::size_t>(text->data() + text->size() - end));
    if (unit == "k") return count * 1000;
    if (unit == "K") return count * 1024;
    return unit.empty() ? std::optional(count) : std::nullopt;
  }

  std::string model() const {
    if (auto named = value("--model")) return *named;
    for (std::size_t i = 0; i + 1 < words_.size(); ++i)
      if (words_[i] == "serve" && !words_[i + 1].starts_with('-')) return words_[i + 1];
    return {};
  }

 private:
  Words words_;
};

void dead(const Line& line, std::vector<LaunchFinding>& found) {
  for (const DeadFlag& flag : dead_flags)
    if (line.has(flag.flag))
      found.push_back({true, fmt::format("{}: vLLM {} has removed this flag", flag.flag, checked_vllm),
                       std::string(flag.instead)});
}

void reasoning(const Line& line, std::vector<LaunchFinding>& found) {
  auto parser = reasoning_parser_of(line.model());
  if (!parser || parser->automatic || line.has("--reasoning-parser")) return;
  found.push_back(
      {false, fmt::format("{} reasons, and no parser separates its reasoning from its answers", line.model()),
       fmt::format("add --reasoning-parser {}", parser->name)});
}

void context(const Line& line, std::vector<LaunchFinding>& found) {
  auto tokens = line.number("--max-model-len");
  if (tokens && *tokens < least_context_tokens)
    found.push_back({false,
                     fmt::format("--max-model-len {} leaves little room for prompt and answer", *tokens),
                     fmt::format("give {} or more", least_context_tokens)});
}

// The quantisation blocks of Qwen3-235B-A22B's experts in FP8 cannot be divided by eight GPUs.
void blocks(const Line& line, std::vector<LaunchFinding>& found) {
  std::string model = line.model();
  if (model.find("235B-A22B") == std::string::npos || model.find("FP8") == std::string::npos) return;
  std::uint64_t parts = line.number("--tensor-parallel-size", "-tp").value_or(1) *
                        line.number("--data-parallel-size", "-dp").value_or(1);
  if (parts >= 8 && !line.has("--enable-expert-parallel"))
    found.push_back({true,
                     fmt::format("{} parts do not divide the FP8 blocks of this model's experts", parts),
                     "add --enable-expert-parallel, which does not split experts"});
}

}  // namespace

std::vector<std::string> launch_words(std::string_view text) {
  std::vector<Words> commands = Splitter().split(text);
  bool plain = std::ranges::any_of(commands, starts_vllm);
  Words words;
  for (Words& command : commands)
    if (!plain || starts_vllm(command)) std::ranges::move(command, std::back_inserter(words));
  return words;
}

std::vector<LaunchFinding> examine_launch(std::string_view text) {
  const Words words = launch_words(text);
  std::vector<LaunchFinding> found;
  auto names_it = [](const std::string& word) { return lower(word).contains("vllm"); };
  auto is_empty = [](const std::string& word) { return word.empty(); };
  if (!std::ranges::all_of(words, is_empty) && std::ranges::none_of(words, names_it))
    found.push_back({false, "nothing here names vLLM, so that no other flag can be judged",
                     "give the line that starts the server, such as \"vllm serve MODEL\""});
  const Line line(words);
  dead(line, found);
  reasoning(line, found);
  context(line, found);
  blocks(line, found);
  return found;
}

namespace {

struct Row {
  std::string_view part;    // of the model's name, in lower case
  std::string_view parser;  // empty: a model without reasoning
  bool automatic = false;
};

// The first matching row is used.
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
  // The later Instruct checkpoints of Qwen3 do not reason, the other chat models do.
  if (has("qwen3") && !has("instruct") && !has("embedding") && !has("reranker") && !has("base"))
    return ReasoningParser{"qwen3", false};
  return {};
}

}  // namespace kw::models
