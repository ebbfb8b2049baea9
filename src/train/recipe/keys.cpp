#include "train/recipe/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/core/words.h"

namespace kw::recipe {
namespace {

bool is_name(std::string_view word) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !word.empty() && word.find_first_not_of(letters) == std::string_view::npos;
}

bool all_names(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (!is_name(word)) return false;
  return !words.empty();
}

std::optional<double> real_of(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return {};
}

// Assigns the value to the key's member; false if it is not allowed.
struct Assign {
  const Value& value;
  Recipe& recipe;

  bool operator()(const Whole& kind) const {
    const auto* whole = std::get_if<std::int64_t>(&value);
    if (whole == nullptr || *whole < kind.least || *whole > kind.most) return false;
    kind.at(recipe) = *whole;
    return true;
  }
  bool operator()(const Real& kind) const {
    auto real = real_of(value);
    // Requires true comparisons, so that NaN fails.
    if (!real || !(kind.above ? *real > kind.least : *real >= kind.least)) return false;
    if (!(kind.below ? *real < kind.most : *real <= kind.most)) return false;
    kind.at(recipe) = *real;
    return true;
  }
  bool operator()(const Flag& kind) const {
    const auto* truth = std::get_if<bool>(&value);
    if (truth != nullptr) kind.at(recipe) = *truth;
    return truth != nullptr;
  }
  bool operator()(const Choice& kind) const {
    const auto* word = std::get_if<std::string>(&value);
    if (word == nullptr || std::ranges::find(kind.words, *word) == kind.words.end()) return false;
    kind.at(recipe) = *word;
    return true;
  }
  bool operator()(const Names& kind) const {
    const auto* names = std::get_if<std::vector<std::string>>(&value);
    if (names == nullptr || !all_names(*names)) return false;
    kind.at(recipe) = *names;
    return true;
  }
};

struct Allowed {
  std::string operator()(const Whole& kind) const {
    return fmt::format("a whole number from {} to {}", kind.least, kind.most);
  }
  std::string operator()(const Real& kind) const {
    return fmt::format("a number {} {} {} {}", kind.above ? "above" : "from", kind.least,
                       kind.below ? "to below" : "to", kind.most);
  }
  std::string operator()(const Flag&) const { return "true or false"; }
  std::string operator()(const Choice& kind) const {
    return fmt::format("one of {}", fmt::join(kind.words, ", "));
  }
  std::string operator()(const Names&) const { return "a list of names, at least one"; }
};

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

struct Written {
  std::string operator()(bool truth) const { return truth ? "true" : "false"; }
  std::string operator()(std::int64_t whole) const { return fmt::format("{}", whole); }
  std::string operator()(double real) const {
    std::string text = fmt::format("{}", real);
    // A real number must be read again as a real number.
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  std::string operator()(const std::string& text) const { return toml_string(text); }
  std::string operator()(const std::vector<std::string>& names) const {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + toml_string(name);
    return "[" + list + "]";
  }
};

std::unexpected<Error> unknown_key(std::string_view path) {
  if (path.empty()) return fail("the key before the = is missing", "write it as training.epochs=2");
  // Compares the name without its section first, since the section may be the error.
  std::size_t dot = path.rfind('.');
  bool is_bare = dot == std::string_view::npos;
  std::vector<std::string> names;
  std::vector<std::string> paths;
  for (const Key& key : keys()) {
    names.emplace_back(key.name);
    paths.push_back(key.path());
  }
  std::string near = nearest(is_bare ? path : path.substr(dot + 1), names);
  if (near.empty())
    near = nearest(path, paths);
  else if (!is_bare)
    near = paths[static_cast<std::size_t>(std::ranges::find(names, near) - names.begin())];
  return fail(fmt::format("a recipe has no key {}", path),
              near.empty() ? "docs/training.md lists them" : fmt::format("do you mean {}?", near));
}

}  // namespace

std::string Key::path() const {
  return fmt::format("{}.{}", section, name);
}

std::string Key::allowed() const {
  return std::visit(Allowed{}, kind);
}

Result<const Key*> find_key(std::string_view path) {
  // Key names are unique over all sections.
  for (const Key& key : keys())
    if (key.path() == path || key.name == path) return &key;
  return unknown_key(path);
}

Value value_of(const Key& key, const Recipe& recipe) {
  // The accessors need a mutable recipe; this call only reads.
  auto& all = const_cast<Recipe&>(recipe);
  return std::visit([&](const auto& kind) -> Value { return kind.at(all); }, key.kind);
}

Result<> assign(const Key& key, const Value& value, Recipe& recipe) {
  if (std::visit(Assign{value, recipe}, key.kind)) return {};
  return fail(fmt::format("{} cannot be {}", key.path(), toml_text(value)),
              fmt::format("give {}", key.allowed()));
}

std::string toml_text(const Value& value) {
  return std::visit(Written{}, value);
}

namespace {

constexpr std::int64_t million = 1'000'000;
constexpr std::int64_t max_seed = 4'294'967'295;  // accepted by every random number generator

// A function pointer that accesses a member: KW_AT(lora.rank).
#define KW_AT(member) ([](Recipe& recipe) -> auto& { return recipe.member; })

std::vector<Key> all_keys() {
  return {
      {"quantisation", "type", Choice{KW_AT(quantisation.type), {"nf4", "none"}}},
      {"quantisation", "double", Flag{KW_AT(quantisation.doubled)}},
      {"quantisation", "compute", Choice{KW_AT(quantisation.compute), {"bf16", "fp16", "fp32"}}},
      {"lora", "rank", Whole{KW_AT(lora.rank), 1, 1024}},
      {"lora", "alpha", Whole{KW_AT(lora.alpha), 1, 65536}},
      {"lora", "dropout", Real{KW_AT(lora.dropout), 0, 1, false, true}},
      {"lora", "bias", Choice{KW_AT(lora.bias), {"none", "all", "lora_only"}}},
      {"lora", "targets", Names{KW_AT(lora.targets)}},
      {"lora", "adapter_dtype", Choice{KW_AT(lora.adapter_dtype), {"fp32", "bf16"}}},
      {"data", "max_length", Whole{KW_AT(data.max_length), 8, million}},
      {"data", "packing", Flag{KW_AT(data.packing)}},
      {"data", "too_long", Choice{KW_AT(data.too_long), {"cut", "drop"}}},
      {"data", "loss", Choice{KW_AT(data.loss), {"completion", "all"}}},
      {"data", "template", Choice{KW_AT(data.chat), {"auto", "none"}}},
      {"data", "shuffle", Flag{KW_AT(data.shuffle)}},
      {"training", "epochs", Whole{KW_AT(training.epochs), 1, 10000}},
      {"training", "micro_batch", Whole{KW_AT(training.micro_batch), 1, 65536}},
      {"training", "accumulation", Whole{KW_AT(training.accumulation), 1, 65536}},
      {"training", "learning_rate", Real{KW_AT(training.learning_rate), 0, 1, true}},
      {"training", "schedule", Choice{KW_AT(training.schedule), {"cosine", "linear", "constant"}}},
      {"training", "warmup", Real{KW_AT(training.warmup), 0, million}},
      {"training", "optimiser", Choice{KW_AT(training.optimiser), {"adamw_torch_fused", "adamw_torch"}}},
      {"training", "beta1", Real{KW_AT(training.beta1), 0, 1, false, true}},
      {"training", "beta2", Real{KW_AT(training.beta2), 0, 1, false, true}},
      {"training", "epsilon", Real{KW_AT(training.epsilon), 0, 1, true}},
      {"training", "weight_decay", Real{KW_AT(training.weight_decay), 0, 1}},
      {"training", "clip", Real{KW_AT(training.clip), 0, million}},
      {"training", "seed", Whole{KW_AT(training.seed), 0, max_seed}},
      {"training", "gradient_checkpointing", Flag{KW_AT(training.gradient_checkpointing)}},
      {"training", "precision", Choice{KW_AT(training.precision), {"bf16", "fp16", "fp32"}}},
      {"training", "attention", Choice{KW_AT(training.attention), {"sdpa", "varlen", "eager"}}},
      {"training", "kernels", Choice{KW_AT(training.kernels), {"none", "liger"}}},
      {"training", "save_every", Whole{KW_AT(training.save_every), 1, 1000 * million}},
      {"training", "keep", Whole{KW_AT(training.keep), 1, million}},
      {"training", "log_every", Whole{KW_AT(training.log_every), 1, million}},
      {"training", "validate_every", Whole{KW_AT(training.validate_every), 1, million}},
      {"training", "patience", Whole{KW_AT(training.patience), 0, million}},
  };
}

#undef KW_AT

}  // namespace

const std::vector<Key>& keys() {
  static const std::vector<Key> all = all_keys();
  return all;
}

}  // namespace kw::recipe
