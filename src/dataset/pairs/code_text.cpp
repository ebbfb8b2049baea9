#include "dataset/pairs/code_text.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/core/text.h"
#include "dataset/extract/harvest.h"
#include "dataset/pairs/token_estimate.h"

namespace kw::pairs {
namespace {

using harvest::Language;

bool is_name_byte(char c) {
  return is_word(c) || static_cast<unsigned char>(c) >= 0x80;
}

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::size_t after(std::string_view text, std::string_view end, std::size_t from) {
  std::size_t found = text.find(end, from);
  return found == std::string_view::npos ? text.size() : found + end.size();
}

// The offset after the literal whose opening quote is at `at`.
std::size_t after_string(std::string_view text, std::size_t at, Language language) {
  char quote = text[at];
  bool triple = language == Language::python && text.substr(at, 3) == std::string(3, quote);
  std::size_t i = at + (triple ? 3 : 1);
  while (i < text.size()) {
    if (text[i] == '\\') {
      i += 2;
    } else if (triple ? text.substr(i, 3) == std::string(3, quote) : text[i] == quote || text[i] == '\n') {
      return std::min(text.size(), i + (triple ? 3 : 1));
    } else {
      ++i;
    }
  }
  return text.size();
}

bool is_string_prefix(std::string_view word) {
  return word.size() <= 2 && word.find_first_not_of("rRbBfFuU") == std::string_view::npos;
}

// The offset after the comment that begins at `at`; `at` itself if none begins there.
std::size_t after_comment(std::string_view text, std::size_t at, Language language) {
  if (language == Language::python) return text[at] == '#' ? after(text, "\n", at) : at;
  if (text.substr(at, 2) == "//") return after(text, "\n", at);
  return text.substr(at, 2) == "/*" ? after(text, "*/", at + 2) : at;
}

std::string_view word_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_name_byte(text[end])) ++end;
  return text.substr(at, end - at);
}

}  // namespace

Language language_of(corpus::UnitKind kind) {
  bool cuda = kind == corpus::UnitKind::cuda_kernel || kind == corpus::UnitKind::cuda_device;
  return cuda ? Language::cuda : Language::python;
}

bool holds_special_token(std::string_view text) {
  for (std::size_t at = text.find("<|"); at != std::string_view::npos; at = text.find("<|", at + 2)) {
    std::size_t end = at + 2 + word_at(text, at + 2).size();
    if (end > at + 2 && text.substr(end, 2) == "|>") return true;
  }
  return false;
}

bool holds_code(std::string_view text, Language language) {
  std::size_t i = 0;
  while (i < text.size()) {
    std::size_t behind = after_comment(text, i, language);
    if (behind > i) {
      i = behind;
    } else if (text[i] == '"' || text[i] == '\'') {
      i = after_string(text, i, language);
    } else if (is_name_byte(text[i])) {
      std::string_view word = word_at(text, i);
      i += word.size();
      bool quoted = i < text.size() && (text[i] == '"' || text[i] == '\'') && is_string_prefix(word);
      if (!quoted && word != "pass") return true;
    } else {
      ++i;
    }
  }
  return false;
}

std::string without_prose(std::string_view text, Language language) {
  std::string code;
  int depth = 0;  // of brackets: a string in them is an argument
  for (std::size_t i = 0; i < text.size();) {
    std::size_t behind = after_comment(text, i, language);
    if (behind > i) {
      if (text[behind - 1] == '\n') code += '\n';
    } else if (text[i] == '"' || text[i] == '\'') {
      behind = after_string(text, i, language);
      const std::size_t line = code.rfind('\n') + 1;  // npos + 1 is 0
      const std::string_view before = trim(std::string_view(code).substr(line));
      const std::string_view rest = text.substr(behind, text.find('\n', behind) - behind);
      const bool alone = depth <= 0 && language == Language::python &&
                         (before.empty() || is_string_prefix(before)) &&
                         (trim(rest).empty() || trim(rest).starts_with('#'));
      if (alone)
        code.resize(line);
      else
        code += text.substr(i, behind - i);
    } else {
      if (std::string_view("([{").contains(text[i])) ++depth;
      if (std::string_view(")]}").contains(text[i])) --depth;
      code += text[i];
      behind = i + 1;
    }
    i = behind;
  }
  return code;
}

bool holds_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

std::string joined(std::initializer_list<std::string_view> pieces) {
  std::string out;
  for (std::string_view piece : pieces) {
    if (std::ranges::all_of(piece, is_blank)) continue;
    if (!out.empty()) out += out.ends_with('\n') ? "\n" : "\n\n";
    out += piece;
  }
  return out;
}

std::string fenced(std::string_view code, std::string_view language) {
  std::string fence = "```";
  while (code.find(fence) != std::string_view::npos) fence += '`';
  std::string out = fence;
  out += language;
  out += '\n';
  out += code;
  if (!code.ends_with('\n')) out += '\n';
  return out + fence + '\n';
}

namespace {

using corpus::Span;

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t hash_of(std::string_view text, std::uint64_t start) {
  std::uint64_t hash = 0xcbf29ce484222325U ^ mixed(start);
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return mixed(hash);
}

// Whether the cut splits a UTF-8 character; a text file cannot contain such a middle.
bool cuts_a_character(std::string_view region, Span middle) {
  auto continues = [&](std::size_t at) {
    return at < region.size() && (static_cast<unsigned char>(region[at]) & 0xc0U) == 0x80;
  };
  return continues(middle.begin) || continues(middle.end);
}

// Each hole is looked for in the whole text, so a longer one would take seconds.
constexpr std::size_t longest_with_holes = std::size_t{1} << 18;  // bytes

std::size_t bytes_of_code(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !is_blank(c); }));
}

// Whether a completion is more prose than code, or has too little code beside its prose.
bool is_mostly_prose(std::string_view completion, Language language, const FimOptions& options) {
  const std::string code = without_prose(completion, language);
  const std::size_t bytes = bytes_of_code(code);
  const std::size_t all = bytes_of_code(completion);
  return bytes < all && (bytes * 2 < all || trim(code).size() < options.shortest_completion);
}

// Beside other context, a hole of at most half a row is learnt best. A text that the kernel has twice would
// be copied, not learnt.
bool is_worth_it(const corpus::Unit& unit, std::string_view text, const Cut& cut, const FimOptions& options) {
  const Span middle = cut.middle;
  if (middle.begin >= middle.end || middle.end > text.size() || cuts_a_character(text, middle)) return false;
  const std::string_view completion = text.substr(middle.begin, middle.end - middle.begin);
  if (trim(completion).size() < options.shortest_completion) return false;
  const std::size_t first = text.find(trim(completion));
  if (text.find(trim(completion), first + 1) != text.npos) return false;
  if (cut.node != "body" && (estimated_tokens(completion) > options.max_tokens / 2 ||
                             is_mostly_prose(completion, language_of(unit.kind), options)))
    return false;
  return holds_code(completion, language_of(unit.kind));
}

bool has_code(const std::vector<Cut>& cuts, Span code) {
  return std::ranges::any_of(cuts, [&](const Cut& cut) { return cut.code == code; });
}

// A block begins with its indentation; the call that is all of it does not.
Span without_blanks(std::string_view text, Span middle) {
  if (middle.begin >= middle.end || middle.end > text.size()) return middle;
  const std::string_view code = trim(text.substr(middle.begin, middle.end - middle.begin));
  if (code.empty()) return middle;
  const auto begin = static_cast<std::size_t>(code.data() - text.data());
  return {begin, begin + code.size()};
}

}  // namespace

std::vector<Cut> possible_cuts(const corpus::Unit& unit, const KernelCode& kernel,
                               const FimOptions& options) {
  const std::uint64_t start = hash_of(unit.id, options.seed);
  std::vector<harvest::HoleSpan> holes = {{.node = "body", .middle = {kernel.body, kernel.text.size()}}};
  if (kernel.text.size() <= longest_with_holes)
    for (harvest::HoleSpan& hole :
         harvest::hole_spans(kernel.text, {0, kernel.text.size()}, language_of(unit.kind)))
      holes.push_back(std::move(hole));
  std::vector<Cut> all;
  for (harvest::HoleSpan& hole : holes) {
    if (hole.node != "body" && hole.middle.begin <= kernel.body && hole.middle.end == kernel.text.size())
      continue;
    const std::uint64_t place = mixed(hole.middle.begin * 0x9e3779b97f4a7c15U + hole.middle.end);
    const std::uint64_t hash = hash_of(hole.node, start ^ place);
    Cut cut{.node = std::move(hole.node),
            .middle = hole.middle,
            .code = without_blanks(kernel.text, hole.middle),
            .hash = hash};
    if (is_worth_it(unit, kernel.text, cut, options)) all.push_back(std::move(cut));
  }
  return all;
}

std::vector<Cut> choose_cuts(std::vector<Cut> all, const FimOptions& options) {
  std::ranges::sort(all, {},
                    [](const Cut& cut) { return std::tuple(cut.occurrences, cut.hash, cut.middle.begin); });
  const std::array<std::pair<std::string_view, unsigned>, 4> wanted = {{
      {"body", 1},
      {"block", options.blocks},
      {"expression", options.expressions},
      {"call", options.calls},
  }};
  std::vector<Cut> chosen;
  for (auto [node, most] : wanted) {
    unsigned taken = 0;
    for (const Cut& cut : all) {
      if (taken == most) break;
      if (cut.node != node || has_code(chosen, cut.code)) continue;
      chosen.push_back(cut);
      ++taken;
    }
  }
  return chosen;
}

}  // namespace kw::pairs
