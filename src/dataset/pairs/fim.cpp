#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/core/text.h"
#include "code/similarity/code_tokens.h"
#include "dataset/pairs/code_text.h"
#include "dataset/pairs/difficulty.h"
#include "dataset/pairs/pairs.h"
#include "dataset/pairs/refusals.h"
#include "dataset/pairs/row_code.h"
#include "dataset/pairs/token_estimate.h"
#include "dataset/units/code_words.h"
#include "dataset/units/row.h"

namespace kw::pairs {
namespace {

using corpus::Row;
using corpus::Unit;

constexpr std::string_view prefix_token = "<|fim_prefix|>";
constexpr std::string_view suffix_token = "<|fim_suffix|>";
constexpr std::string_view middle_token = "<|fim_middle|>";
// Of functions with an equal hole: a text that more have is boilerplate.
constexpr std::uint32_t most_occurrences = 4;
constexpr std::size_t mark_tokens = 4;  // of a row, the end of the text among them

std::string_view middle_of(const KernelCode& kernel, const Cut& cut) {
  return std::string_view(kernel.text).substr(cut.middle.begin, cut.middle.end - cut.middle.begin);
}

// A prompt and its completion, and the code that the two are together.
struct Text {
  std::string rendering;
  std::string prompt;
  std::string completion;
  std::string whole;
};

class RowMaker {
 public:
  RowMaker(const Unit& unit, const KernelCode& kernel, const FimOptions& options, FimRows& made)
      : unit_(unit), kernel_(kernel), options_(options), made_(made), language_(language_of(unit.kind)) {}

  void add(const Cut& cut) {
    if (cut.node == "body" && options_.body == Body::instruction) return add_instruction(cut);
    if (cut.node == "body" && options_.body != Body::fim) add_plain(cut);
    if (cut.node != "body" || options_.body == Body::fim || options_.body == Body::both) add_holes(cut);
  }

 private:
  // The estimate is a mean: one row in a hundred has 9% more tokens.
  std::size_t budget() const {
    const std::size_t tokens = options_.max_tokens - options_.max_tokens / 12;
    return tokens - std::min(tokens, mark_tokens);
  }

  void leave_out(std::string_view why) { ++made_.left_out[std::string(why)]; }

  void add_plain(const Cut& cut) {
    auto around =
        surroundings(unit_, kernel_, {.hole = cut.middle, .tokens = budget(), .ends_with_hole = true});
    if (!around) return leave_out(around.error());
    std::string completion(middle_of(kernel_, cut));
    std::string whole = around->before + completion;
    keep(cut, {"plain", std::move(around->before), std::move(completion), std::move(whole)});
  }

  void add_holes(const Cut& cut) {
    auto around =
        surroundings(unit_, kernel_, {.hole = cut.middle, .tokens = budget(), .with_launcher = true});
    if (!around) return leave_out(around.error());
    bool psm = options_.rendering == Rendering::psm || options_.rendering == Rendering::both;
    bool spm = options_.rendering == Rendering::spm || options_.rendering == Rendering::both;
    if (options_.rendering == Rendering::mixed) (cut.hash % 2 == 0 ? psm : spm) = true;
    const std::string completion(middle_of(kernel_, cut));
    const auto& [before, after] = *around;
    const std::string whole = before + completion + after;
    if (psm)
      keep(cut, {"psm", fmt::format("{}{}{}{}{}", prefix_token, before, suffix_token, after, middle_token),
                 completion, whole});
    if (spm)
      keep(cut, {"spm", fmt::format("{}{}{}{}{}", suffix_token, after, prefix_token, before, middle_token),
                 completion, whole});
  }

  // The signature stands in the prompt and in the completion.
  void add_instruction(const Cut& cut) {
    const std::string request =
        fmt::format("Write the {} `{}`. Its signature and the code that it uses:\n\n",
                    language_ == harvest::Language::cuda ? "CUDA function" : "Triton kernel", unit_.name);
    const std::string_view signature = std::string_view(kernel_.text).substr(0, kernel_.body);
    const std::size_t fixed = estimated_tokens(request) + estimated_tokens(signature) + mark_tokens;
    const std::size_t tokens = budget() - std::min(budget(), fixed);
    auto around =
        surroundings(unit_, kernel_, {.hole = cut.middle, .tokens = tokens, .ends_with_hole = true});
    if (!around) return leave_out(around.error());
    // The kernel as the prompt shows it: decorators, signature.
    std::size_t begin =
        around->before.rfind(kernel_.text.substr(kernel_.definition, kernel_.body - kernel_.definition));
    const std::string_view shown = around->before;
    while (begin > 0) {
      const std::size_t line = begin < 2 ? 0 : shown.rfind('\n', begin - 2) + 1;
      if (trim(shown.substr(line, begin - line)).empty()) break;
      begin = line;
    }
    std::string completion = around->before.substr(begin) + std::string(middle_of(kernel_, cut));
    std::string prompt =
        request + fenced(around->before, language_ == harvest::Language::cuda ? "cuda" : "python");
    std::string whole = around->before.substr(0, begin) + completion;
    keep(cut, {"instruction", std::move(prompt), std::move(completion), std::move(whole)});
  }

  // Whether the completion uses a name that it does not bind, and that is nowhere in the prompt's code. Only
  // of Python: CUDA's headers define names that no text shows. Pieces of documents often import nothing; tl
  // is Triton's language in all of them.
  bool uses_unknown_name(const Text& text) const {
    if (language_ != harvest::Language::python) return false;
    std::vector<std::string> undefined = harvest::undefined_names(text.whole);
    std::erase_if(undefined, [](const std::string& name) { return name == "tl" || name == "triton"; });
    if (undefined.empty()) return false;
    const std::string code = corpus::without_words(text.prompt, corpus::Syntax::python);
    return std::ranges::any_of(undefined, [&](const std::string& name) { return !holds_word(code, name); });
  }

  void keep(const Cut& cut, Text text) {
    if (!harvest::parses(text.whole, language_)) return leave_out(does_not_parse);
    if (uses_unknown_name(text)) return leave_out(unknown_name);
    if (language_ == harvest::Language::python && !name_of_two_things(text.whole).empty())
      return leave_out(two_meanings);
    Row row;
    row.id = corpus::row_key(text.prompt, text.completion);
    row.kind = corpus::RowKind::fim;
    row.renamed_sha1 = near::renamed_sha1(text.prompt + text.completion);
    row.prompt = std::move(text.prompt);
    row.completion = std::move(text.completion);
    row.unit = unit_.id;
    row.source = unit_.source;
    row.licence = unit_.licence;
    row.hole = corpus::Hole{.node = cut.node,
                            .rendering = std::move(text.rendering),
                            .region = unit_.source.span,
                            .middle = {unit_.source.span.begin + kernel_.in_unit(cut.middle.begin),
                                       unit_.source.span.begin + kernel_.in_unit(cut.middle.end)}};
    row.difficulty = difficulty_of(row.completion, language_, cut.occurrences);
    made_.rows.push_back(std::move(row));
  }

  const Unit& unit_;
  const KernelCode& kernel_;
  const FimOptions& options_;
  FimRows& made_;
  harvest::Language language_;
};

}  // namespace

std::uint64_t hole_key(std::string_view completion) {
  // FNV-1a over the words: runs of white space count as one space.
  std::uint64_t hash = 0xcbf29ce484222325U;
  bool space = false;
  for (char c : trim(completion)) {
    const bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
    if (is_space && space) continue;
    space = is_space;
    hash = (hash ^ static_cast<unsigned char>(is_space ? ' ' : c)) * 0x100000001b3U;
  }
  return hash;
}

std::vector<std::uint64_t> hole_keys(const Unit& unit, const FimOptions& options) {
  if (unit.kind == corpus::UnitKind::torch) return {};
  auto kernel = kernel_code(unit);
  if (!kernel) return {};
  std::set<std::uint64_t> keys;
  for (const Cut& cut : possible_cuts(unit, *kernel, options)) keys.insert(hole_key(middle_of(*kernel, cut)));
  return {keys.begin(), keys.end()};
}

FimRows fim_rows(const Unit& unit, const FimOptions& options, const Occurrences& occurrences) {
  FimRows made;
  if (unit.kind == corpus::UnitKind::torch) return made;
  auto leave_out = [&](std::string_view why) {
    ++made.left_out[std::string(why)];
    return std::move(made);
  };
  if (holds_special_token(unit.context) || holds_special_token(unit.text) ||
      holds_special_token(unit.launcher.text))
    return leave_out(special_token);
  auto kernel = kernel_code(unit);
  if (!kernel) return leave_out(does_not_parse);
  std::vector<Cut> cuts = possible_cuts(unit, *kernel, options);
  for (Cut& cut : cuts)
    if (auto found = occurrences.find(hole_key(middle_of(*kernel, cut))); found != occurrences.end())
      cut.occurrences = found->second;
  if (std::ranges::none_of(cuts, [](const Cut& cut) { return cut.node == "body"; }))
    ++made.left_out[std::string(no_code)];
  RowMaker maker(unit, *kernel, options, made);
  for (const Cut& cut : choose_cuts(std::move(cuts), options)) {
    // The rarest hole of its kind: all others are as common.
    if (cut.occurrences > most_occurrences)
      ++made.left_out[std::string(common_hole)];
    else
      maker.add(cut);
  }
  return made;
}

std::optional<FimPrompt> parse_fim_prompt(std::string_view prompt) {
  FimPrompt parts;
  parts.prefix_first = prompt.starts_with(prefix_token);
  std::string_view first_token = parts.prefix_first ? prefix_token : suffix_token;
  std::string_view second_token = parts.prefix_first ? suffix_token : prefix_token;
  std::size_t second_at = prompt.find(second_token);
  std::size_t middle_at = prompt.find(middle_token);
  if (!prompt.starts_with(first_token) || second_at == prompt.npos || middle_at < second_at) return {};
  if (middle_at + middle_token.size() != prompt.size()) return {};
  std::string_view first = prompt.substr(first_token.size(), second_at - first_token.size());
  std::size_t second_begin = second_at + second_token.size();
  std::string_view second = prompt.substr(second_begin, middle_at - second_begin);
  parts.prefix = parts.prefix_first ? first : second;
  parts.suffix = parts.prefix_first ? second : first;
  return parts;
}

}  // namespace kw::pairs
