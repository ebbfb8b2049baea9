#include "dataset/pairs/row_code.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "base/core/text.h"
#include "dataset/pairs/code_text.h"
#include "dataset/pairs/context_choice.h"
#include "dataset/pairs/launcher_choice.h"
#include "dataset/pairs/refusals.h"
#include "dataset/pairs/token_estimate.h"
#include "dataset/units/code_words.h"

namespace kw::pairs {
namespace {

using corpus::Span;
using corpus::Unit;
using harvest::CodePart;
using NameSet = std::set<std::string, std::less<>>;

std::string_view piece(std::string_view text, Span span) {
  return text.substr(span.begin, span.end - span.begin);
}

// The blanks before the unit's first line in the file.
std::string_view indent_of(const Unit& unit) {
  if (unit.source.span.begin < unit.region_begin) return {};
  const std::size_t at = unit.source.span.begin - unit.region_begin;
  if (at > unit.region.size()) return {};
  const std::string_view before = std::string_view(unit.region).substr(0, at);
  const std::size_t line = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  const std::string_view indent = before.substr(line);
  return indent.find_first_not_of(" \t") == indent.npos ? indent : std::string_view{};
}

struct Dedented {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>> removed;
};

// Removes up to the indent from each line but the first, which begins after it.
Dedented without_indent(std::string_view text, std::string_view indent) {
  Dedented out;
  std::size_t gone = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t newline = text.find('\n', at);
    const std::size_t end = newline == text.npos ? text.size() : newline + 1;
    const std::string_view line = text.substr(at, end - at);
    std::size_t same = 0;
    while (at > 0 && same < indent.size() && same < line.size() && line[same] == indent[same]) ++same;
    gone += same;
    if (same > 0) out.removed.emplace_back(out.text.size(), gone);
    out.text += line.substr(same);
    at = end;
  }
  return out;
}

}  // namespace

std::size_t KernelCode::in_unit(std::size_t at) const {
  auto after = std::ranges::upper_bound(removed, at, {}, &std::pair<std::size_t, std::size_t>::first);
  return after == removed.begin() ? at : at + std::prev(after)->second;
}

std::optional<KernelCode> kernel_code(const Unit& unit) {
  if (unit.signature_bytes > unit.text.size()) return {};
  const harvest::Language language = language_of(unit.kind);
  const std::string_view indent =
      language == harvest::Language::python ? indent_of(unit) : std::string_view{};
  KernelCode kernel;
  kernel.body =
      without_indent(std::string_view(unit.text).substr(0, unit.signature_bytes), indent).text.size();
  Dedented dedented = without_indent(unit.text, indent);
  kernel.text = std::move(dedented.text);
  kernel.removed = std::move(dedented.removed);
  harvest::CodeParts parts = harvest::code_parts(kernel.text, language);
  if (!parts.parses || parts.parts.empty()) return {};
  if (language == harvest::Language::python && parts.parts.size() != 1) return {};
  kernel.part = std::move(parts.parts.front());
  for (const harvest::DecoratorPart& decorator : kernel.part.decorators)
    kernel.definition = std::max(kernel.definition, decorator.span.end);
  return kernel;
}

namespace {

// Imports of two contexts, each once, in the order that each context has. An import may have several lines.
std::string sorted_imports(std::string_view imports) {
  std::set<std::string_view> all;
  for (const harvest::CodePart& part : harvest::code_parts(imports, harvest::Language::python).parts)
    all.insert(trim(piece(imports, part.span)));
  std::string text;
  for (std::string_view each : all) text += std::string(each) + '\n';
  return text;
}

class Composer {
 public:
  Composer(const Unit& unit, const KernelCode& kernel, const Wanted& wanted)
      : unit_(unit),
        kernel_(kernel),
        wanted_(wanted),
        language_(language_of(unit.kind)),
        context_(unit.context, unit.own_imports, {unit.name}, language_),
        decorators_(kernel.part.decorators.size(), false) {}

  std::expected<Surroundings, std::string_view> run() {
    const std::size_t hole = estimated_tokens(piece(kernel_.text, wanted_.hole));
    if (hole > wanted_.tokens) return std::unexpected(long_completion);
    left_ = wanted_.tokens - hole;
    if (!wanted_.ends_with_hole) spare_ = harvest::spare_parts(kernel_.text, wanted_.hole, language_);
    shown_.assign(spare_.size(), false);
    if (!pay(bare_cost())) return std::unexpected(long_signature);
    for (std::size_t i = 0; i < decorators_.size(); ++i)
      if (is_jit(decorator(i)) && take_decorator(i)) {
        context_.take_imports(kernel_.part.decorators[i].uses, left_);
        for (const std::string& name : kernel_.part.decorators[i].uses) keep_tokens_for_name(name);
      }
    context_.take_stars(left_);
    context_.take_imports(kernel_.part.uses, left_);
    keep_tokens_for(text_around_hole());
    use_in_hole();
    show_statements();
    define_shown_names();
    for (std::size_t i = 0; i < decorators_.size(); ++i)
      if (!decorators_[i]) add_decorator(i);
    return compose();
  }

 private:
  std::string_view decorator(std::size_t i) const {
    return piece(kernel_.text, kernel_.part.decorators[i].span);
  }

  bool pay(std::size_t tokens) {
    if (tokens > left_) return false;
    left_ -= tokens;
    return true;
  }

  // A decorator with all that it needs, or neither.
  void add_decorator(std::size_t i) {
    ContextChoice::State before = context_.state();
    const std::size_t left = left_;
    context_.take(kernel_.part.decorators[i].uses, left_);
    if (context_.knows(kernel_.part.decorators[i].uses) && take_decorator(i)) return;
    context_.go_back(std::move(before));
    left_ = left;
  }

  // Definitions that the hole itself uses, for up to a third of what is left. A statement whose own needs
  // cannot be met stands alone, because the hole needs its name.
  void use_in_hole() {
    const std::string_view hole = piece(kernel_.text, wanted_.hole);
    std::vector<std::string> names;
    for (const std::string& name : kernel_.part.uses)
      if (holds_word(hole, name)) names.push_back(name);
    const std::size_t kept = left_ - left_ / 3;
    left_ -= kept;
    context_.take(names, left_);
    left_ += kept;
    for (const std::string& name : names) {
      if (context_.take_signature(name, left_)) continue;
      context_.take({name}, left_);
      if (!context_.take_imported(name, left_)) context_.take_alone(name, left_);
    }
  }

  // Statements that bind a name of the hole, where they fit; then all from the hole outwards, up to the first
  // that does not fit.
  void show_statements() {
    constexpr std::size_t tokens_of_mark = 6;  // each may stand apart from the others
    const NameSet wanted = words_of_hole();
    for (std::size_t i = 0; i < spare_.size(); ++i)
      if (binds_one_of(spare_[i], wanted)) shown_[i] = pay_with_names(spare_[i], tokens_of_mark);
    for (std::size_t i = 0; i < spare_.size(); ++i) {
      if (shown_[i]) continue;
      if (!pay_with_names(spare_[i], 0)) return;
      shown_[i] = true;
    }
  }

  bool pay_with_names(const harvest::SparePart& part, std::size_t more) {
    const std::string_view text = piece(kernel_.text, part.span);
    return keep_tokens_for(text, estimated_tokens(text) + more);
  }

  // Of the kernel, what is shown whatever the number of tokens, without the hole.
  std::string text_around_hole() const {
    std::string text;
    std::size_t at = kernel_.definition;
    std::vector<Span> gone{wanted_.hole};
    for (const harvest::SparePart& part : spare_) gone.push_back(part.span);
    if (wanted_.ends_with_hole) gone.push_back({wanted_.hole.end, kernel_.text.size()});
    std::ranges::sort(gone, {}, &Span::begin);
    for (const Span& span : gone) {
      if (span.begin > at) text += piece(kernel_.text, {at, span.begin});
      at = std::max(at, span.end);
    }
    return text + kernel_.text.substr(std::min(at, kernel_.text.size()));
  }

  // Pays for the text, and keeps what the definitions of its names take at least; false where that is too
  // much.
  bool keep_tokens_for(std::string_view text, std::size_t tokens = 0) {
    std::vector<std::pair<std::string, std::size_t>> kept;
    std::size_t all = tokens;
    for (const std::string& name : kernel_.part.uses) {
      if (language_ != harvest::Language::python || kept_.contains(name) || !holds_word(text, name)) continue;
      kept.emplace_back(name, context_.least_tokens(name).value_or(0));
      all += kept.back().second;
    }
    if (!pay(all)) return false;
    for (auto& [name, least] : kept) kept_[name] = least;
    return true;
  }

  void keep_tokens_for_name(const std::string& name) {
    const std::size_t least = context_.least_tokens(name).value_or(0);
    if (language_ == harvest::Language::python && pay(least)) kept_[name] = least;
  }

  // The names of the shown code, in full where it fits. The tokens that are kept for a name are spent on it
  // alone.
  void define_shown_names() {
    if (language_ != harvest::Language::python) context_.take(kernel_.part.uses, left_);
    for (const auto& [name, least] : kept_) {
      left_ += least;
      context_.take({name}, left_);
      if (context_.take_signature(name, left_) || context_.take_imported(name, left_)) continue;
      context_.take_shortest(name, left_);
    }
  }

  // The names in the hole, without those behind a dot.
  NameSet words_of_hole() const {
    const auto syntax =
        language_ == harvest::Language::python ? corpus::Syntax::python : corpus::Syntax::cuda;
    const std::string code = corpus::without_words(piece(kernel_.text, wanted_.hole), syntax);
    NameSet words;
    for (std::size_t at = 0; at < code.size();) {
      std::size_t end = at;
      while (end < code.size() && is_word(code[end])) ++end;
      if (end > at && (at == 0 || code[at - 1] != '.')) words.insert(code.substr(at, end - at));
      at = end > at ? end : at + 1;
    }
    return words;
  }

  // Only of Python: the names that a statement of CUDA binds are not known.
  bool binds_one_of(const harvest::SparePart& part, const NameSet& names) const {
    if (language_ != harvest::Language::python) return false;
    const std::string_view text = piece(kernel_.text, part.span);
    std::size_t at = 0;
    while (at < text.size() && trim(text.substr(at, text.find('\n', at) - at)).empty())
      at = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view lines = text.substr(at);
    const std::string_view indent = lines.substr(0, std::min(lines.find_first_not_of(" \t"), lines.size()));
    const std::string flat = without_indent(lines.substr(indent.size()), indent).text;
    for (const CodePart& statement : harvest::code_parts(flat, language_).parts)
      for (const std::string& name : statement.defines)
        if (names.contains(name)) return true;
    return false;
  }

  bool take_decorator(std::size_t i) {
    decorators_[i] = decorators_[i] || pay(estimated_tokens(decorator(i)));
    return decorators_[i];
  }

  // Of the kernel without hole, decorators and spare parts, with a mark for each run of the latter.
  std::size_t bare_cost() const {
    std::string text = kernel_.text.substr(kernel_.definition, wanted_.hole.begin - kernel_.definition);
    std::size_t whole = estimated_tokens(text);
    if (!wanted_.ends_with_hole)
      whole += estimated_tokens(std::string_view(kernel_.text).substr(wanted_.hole.end));
    std::size_t spared = 0;
    for (const harvest::SparePart& part : spare_) spared += estimated_tokens(piece(kernel_.text, part.span));
    constexpr std::size_t tokens_of_marks = 12;
    return whole - std::min(whole, spared) + (spare_.empty() ? 0 : tokens_of_marks);
  }

  // The text of the kernel between two positions, with marks in place of spare parts that are not shown.
  std::string shown(Span span) const {
    std::vector<const harvest::SparePart*> hidden;
    for (std::size_t i = 0; i < spare_.size(); ++i)
      if (!shown_[i] && span.begin <= spare_[i].span.begin && spare_[i].span.end <= span.end)
        hidden.push_back(&spare_[i]);
    std::ranges::sort(hidden, {}, [](const harvest::SparePart* part) { return part->span.begin; });
    std::string text;
    std::size_t at = span.begin;
    for (const harvest::SparePart* part : hidden) {
      if (part->span.begin < at) continue;
      const std::string_view between = piece(kernel_.text, {at, part->span.begin});
      // One mark for neighbours.
      const bool again = trim(between).empty() && text.ends_with(std::string(trim(part->instead)) + '\n');
      if (!again) text += between;
      if (!again) text += part->instead;
      at = part->span.end;
    }
    return text + std::string(piece(kernel_.text, {at, span.end}));
  }

  Surroundings compose() {
    std::string head;
    for (std::size_t i = 0; i < decorators_.size(); ++i)
      if (decorators_[i] && (is_jit(decorator(i)) || context_.knows(kernel_.part.decorators[i].uses)))
        head += decorator(i);
    head += shown({kernel_.definition, wanted_.hole.begin});
    Surroundings around;
    around.before = joined({context_.imports(), context_.definitions(), head});
    if (wanted_.ends_with_hole) return around;
    around.after = shown({wanted_.hole.end, kernel_.text.size()});
    if (wanted_.with_launcher) add_launcher(around, head);
    return around;
  }

  // After the kernel, with imports at the beginning. A file ends with a newline.
  void add_launcher(Surroundings& around, std::string_view head) {
    if (!around.after.ends_with('\n')) around.after += '\n';
    if (language_ != harvest::Language::python) return;
    const std::string row = around.before + std::string(piece(kernel_.text, wanted_.hole)) + around.after;
    auto launcher = shown_launcher(unit_, row, left_);
    if (!launcher) return;
    Surroundings with;
    const std::string imports = context_.imports() + launcher->imports;
    with.before = joined({sorted_imports(imports), context_.definitions(), head});
    with.after = around.after + "\n\n" + launcher->text;
    if (!with.after.ends_with('\n')) with.after += '\n';
    const std::string whole = with.before + std::string(piece(kernel_.text, wanted_.hole)) + with.after;
    if (harvest::parses(whole, language_) && name_of_two_things(whole).empty()) around = std::move(with);
  }

  const Unit& unit_;
  const KernelCode& kernel_;
  const Wanted& wanted_;
  harvest::Language language_;
  ContextChoice context_;
  std::vector<bool> decorators_;  // of the kernel
  std::vector<harvest::SparePart> spare_;
  std::vector<bool> shown_;                  // of spare_
  std::map<std::string, std::size_t> kept_;  // tokens for the names of the shown code
  std::size_t left_ = 0;                     // tokens
};

}  // namespace

std::expected<Surroundings, std::string_view> surroundings(const Unit& unit, const KernelCode& kernel,
                                                           const Wanted& wanted) {
  return Composer(unit, kernel, wanted).run();
}

}  // namespace kw::pairs
