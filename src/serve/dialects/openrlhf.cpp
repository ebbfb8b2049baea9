// OpenRLHF: {"query": [..], "prompts": [..], "labels": [..]}, where a query is prompt and answer, decoded
// with special tokens, and a label names the task.
#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>

#include "base/core/json.h"
#include "base/core/text.h"
#include "serve/dialects/dialect.h"
#include "serve/evaluation_json.h"

namespace kw::service {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr std::size_t most_openrlhf_samples = 1'000;
constexpr std::size_t longest_token = 48;
constexpr int most_leading_tokens = 16;  // each costs a comparison of the whole prompt
// Special tokens without a common form; others are "<|...|>", also with full-width bars.
constexpr std::array plain_tokens{
    "<s>",           "</s>",  "<bos>", "<eos>", "<pad>", "<unk>", "<start_of_turn>",
    "<end_of_turn>", "[BOS]", "[EOS]", "[PAD]"};
constexpr std::array<std::array<std::string_view, 2>, 2> bars{{{"<|", "|>"}, {"<｜", "｜>"}}};

// The length of a special token at the beginning of the text; 0: there is none.
std::size_t token_before(std::string_view text) {
  for (std::string_view each : plain_tokens)
    if (text.starts_with(each)) return each.size();
  for (const auto& [open, close] : bars) {
    if (!text.starts_with(open)) continue;
    auto end = text.substr(0, longest_token).find(close, open.size());
    if (end != std::string_view::npos) return end + close.size();
  }
  return 0;
}

std::size_t token_after(std::string_view text) {
  for (std::string_view each : plain_tokens)
    if (text.ends_with(each)) return each.size();
  for (const auto& [open, close] : bars) {
    if (!text.ends_with(close)) continue;
    auto begin = text.rfind(open);
    if (begin != std::string_view::npos && text.size() - begin <= longest_token) return text.size() - begin;
  }
  return 0;
}

bool is_white(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

std::string_view after_spaces(std::string_view text) {
  while (!text.empty() && is_white(text.front())) text.remove_prefix(1);
  return text;
}

// What follows the prompt, where white space may differ: decoders add and remove it beside special tokens.
std::optional<std::string_view> rest_after(std::string_view query, std::string_view prompt) {
  if (query.starts_with(prompt)) return query.substr(prompt.size());
  while (true) {
    prompt = after_spaces(prompt);
    if (prompt.empty()) return query;
    query = after_spaces(query);
    if (query.empty() || query.front() != prompt.front()) return {};
    query.remove_prefix(1);
    prompt.remove_prefix(1);
  }
}

// The answer in a query: what follows the prompt, before which the decoder may have put special tokens, and
// without the special tokens at its end.
std::optional<std::string_view> answer_in(std::string_view query, std::string_view prompt) {
  auto answer = rest_after(query, prompt);
  for (int stripped = 0; !answer; ++stripped) {
    if (stripped == most_leading_tokens) return {};
    query = after_spaces(query);
    std::size_t token = token_before(query);
    if (token == 0) return {};
    query.remove_prefix(token);
    answer = rest_after(query, prompt);
  }
  while (true) {
    std::string_view trimmed = *answer;
    while (!trimmed.empty() && is_white(trimmed.back())) trimmed.remove_suffix(1);
    std::size_t token = token_after(trimmed);
    if (token == 0) return answer;
    answer = trimmed.substr(0, trimmed.size() - token);
  }
}

Answered<json::object> read_sample(const json::value& query, const json::value& prompt,
                                   const json::value& label, std::size_t i) {
  auto named = [i](std::string_view list) { return fmt::format("{}[{}]", list, i); };
  if (!query.is_string()) return refuse(unprocessable(named("query"), "is not a text"));
  if (!prompt.is_string() || trim(prompt.get_string()).empty())
    return refuse(unprocessable(
        named("prompts"), "is not a text with characters: without the prompt the answer cannot be told"));
  auto answer = answer_in(query.get_string(), prompt.get_string());
  if (!answer)
    return refuse(unprocessable(
        named("query"),
        fmt::format("does not begin with {}: which part of it is the answer is ambiguous. A prompt that was "
                    "truncated to the trainer's maximum length is a cause",
                    named("prompts"))));
  auto fields = task_of_label(&label, named("labels"));
  if (!fields) return refuse(std::move(fields.error()));
  (*fields)["completion"] = *answer;
  return std::move(*fields);
}

Answered<std::vector<json::object>> read_openrlhf(const json::object& theirs) {
  std::array<const json::array*, 3> lists{};
  constexpr std::array names{"query", "prompts", "labels"};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    lists[i] = array_at(theirs, names[i]);
    if (lists[i] == nullptr) return refuse(unprocessable(names[i], "is not a list"));
    if (lists[i]->size() != lists[0]->size())
      return refuse(unprocessable(
          names[i], fmt::format("has {} items, query has {}", lists[i]->size(), lists[0]->size())));
  }
  if (lists[0]->size() > most_openrlhf_samples)
    return refuse(
        {413, "too_large",
         fmt::format("query has {} items, the limit is {}", lists[0]->size(), most_openrlhf_samples),
         "query"});
  std::vector<json::object> samples;
  for (std::size_t i = 0; i < lists[0]->size(); ++i) {
    auto sample = read_sample(lists[0]->at(i), lists[1]->at(i), lists[2]->at(i), i);
    if (!sample) return refuse(std::move(sample.error()));
    samples.push_back(std::move(*sample));
  }
  return samples;
}

// Numbers for one sample, as the trainer sends them; else lists. A trainer with several reward URLs sends
// an empty list to all but one.
http::Response answer_openrlhf(const json::object&, const std::vector<Judged>& judged) {
  json::array rewards;
  json::array correct;
  for (const Judged& each : judged) {
    if (!each.reward) return not_judged_response(each);
    rewards.emplace_back(*each.reward);
    correct.emplace_back(correct_number(each));
  }
  json::value reward = rewards;
  json::value correctness = correct;
  if (judged.size() == 1) {
    reward = rewards[0];
    correctness = correct[0];
  }
  return json_response(200, json::object{{"rewards", reward},
                                         {"scores", reward},
                                         {"extra_logs", json::object{{"correct", correctness}}}});
}

}  // namespace

// OpenRLHF waits 180 s and tries five times.
const Dialect openrlhf{.name = "openrlhf",
                       .path = "/openrlhf",
                       .patience = 170s,
                       .read = read_openrlhf,
                       .answer = answer_openrlhf};

}  // namespace kw::service
