#include "dataset/pairs/row_code.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <tuple>

#include "base/core/text.h"
#include "dataset/pairs/code_text.h"
#include "dataset/pairs/token_estimate.h"
#include "dataset/units/code_words.h"

namespace kw::pairs {
namespace {

using corpus::Span;
using corpus::Unit;
using harvest::CodePart;
using harvest::CodeParts;
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
  CodeParts parts = harvest::code_parts(kernel.text, language);
  if (!parts.parses || parts.parts.empty()) return {};
  if (language == harvest::Language::python && parts.parts.size() != 1) return {};
  kernel.part = std::move(parts.parts.front());
  for (const harvest::DecoratorPart& decorator : kernel.part.decorators)
    kernel.definition = std::max(kernel.definition, decorator.span.end);
  return kernel;
}

namespace {

// A decorator that says that the function is a kernel. It is shown also where a piece of a document imports
// nothing, because the code is no kernel without it.
bool is_jit(std::string_view decorator) {
  return decorator.find("jit") != decorator.npos && decorator.size() < 200;
}

class Composer {
 public:
  Composer(const Unit& unit, const KernelCode& kernel, const Wanted& wanted)
      : unit_(unit),
        kernel_(kernel),
        wanted_(wanted),
        language_(language_of(unit.kind)),
        context_(harvest::code_parts(unit.context, language_)),
        chosen_(context_.parts.size(), false),
        signed_(context_.parts.size(), false),
        decorators_(kernel.part.decorators.size(), false) {}

  std::expected<Surroundings, std::string_view> run() {
    const std::size_t hole = estimated_tokens(piece(kernel_.text, wanted_.hole));
    if (hole > wanted_.tokens) return std::unexpected(long_completion);
    left_ = wanted_.tokens - hole;
    if (!wanted_.ends_with_hole) spare_ = harvest::spare_parts(kernel_.text, wanted_.hole, language_);
    shown_.assign(spare_.size(), false);
    if (!pay(bare_cost())) return std::unexpected(long_signature);
    for (std::size_t i = 0; i < decorators_.size(); ++i)
      if (is_jit(decorator(i)) && take_decorator(i)) use(kernel_.part.decorators[i].uses, true);
    for (std::size_t i = 0; i < chosen_.size(); ++i)
      if (context_.parts[i].is_import && context_.parts[i].defines.empty() &&
          pay(estimated_tokens(piece(unit_.context, context_.parts[i].span))))
        choose(i);
    use(kernel_.part.uses, true);
    use_in_hole();
    show_statements();
    use(kernel_.part.uses, false);
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
    auto before = std::tuple(chosen_, defined_, left_);
    use(kernel_.part.decorators[i].uses, false);
    if (!known(kernel_.part.decorators[i].uses) || !take_decorator(i))
      std::tie(chosen_, defined_, left_) = std::move(before);
  }

  // Definitions that the hole itself uses, for up to a third of what is left.
  void use_in_hole() {
    const std::string_view hole = piece(kernel_.text, wanted_.hole);
    std::vector<std::string> names;
    for (const std::string& name : kernel_.part.uses)
      if (holds_word(hole, name)) names.push_back(name);
    const std::size_t kept = left_ - left_ / 3;
    left_ -= kept;
    use(names, false);
    left_ += kept;
    for (const std::string& name : names) use_signature(name);
  }

  // The signature of a helper that does not fit, so that the reader knows how to call it.
  void use_signature(const std::string& name) {
    if (language_ != harvest::Language::python || defined_.contains(name)) return;
    for (std::size_t i = context_.parts.size(); i-- > 0;) {
      if (chosen_[i] || signed_[i] || !defines(context_.parts[i], name)) continue;
      const std::string text = signature(context_.parts[i]);
      signed_[i] = !text.empty() && pay(estimated_tokens(text) + 2);
      if (signed_[i]) return;
    }
  }

  // "@triton.jit", "def f(x):" and a body of dots; empty for a part that is no function.
  std::string signature(const CodePart& part) const {
    std::size_t begin = part.span.begin;
    std::string text;
    for (const auto& each : part.decorators) {
      begin = std::max(begin, each.span.end);
      const std::string_view line = piece(unit_.context, each.span);
      if (is_jit(line) && known(each.uses)) text += line;
    }
    const std::string_view definition = piece(unit_.context, {begin, part.span.end});
    if (!definition.starts_with("def ")) return {};
    const std::string code = corpus::without_words(definition, corpus::Syntax::python);
    int depth = 0;
    for (std::size_t at = 0; at < code.size(); ++at) {
      if (std::string_view("([{").contains(code[at])) ++depth;
      if (std::string_view(")]}").contains(code[at])) --depth;
      if (code[at] != ':' || depth > 0) continue;
      text += definition.substr(0, at + 1);
      return text + "\n    ...\n";
    }
    return {};
  }

  // Statements that bind a name of the hole, where they fit; then all from the hole outwards, up to the first
  // that does not fit.
  void show_statements() {
    constexpr std::size_t tokens_of_mark = 6;  // each may stand apart from the others
    const NameSet wanted = words_of_hole();
    for (std::size_t i = 0; i < spare_.size(); ++i)
      if (binds_one_of(spare_[i], wanted))
        shown_[i] = pay(estimated_tokens(piece(kernel_.text, spare_[i].span)) + tokens_of_mark);
    for (std::size_t i = 0; i < spare_.size(); ++i) {
      if (shown_[i]) continue;
      if (!pay(estimated_tokens(piece(kernel_.text, spare_[i].span)))) return;
      shown_[i] = true;
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

  // Chooses the parts of the context that define these names, then what those need. With `imports_only`, the
  // imports among the direct ones.
  void use(const std::vector<std::string>& names, bool imports_only) {
    std::deque<std::string> open(names.begin(), names.end());
    NameSet seen;
    for (; !open.empty(); open.pop_front()) {
      if (!seen.insert(open.front()).second) continue;
      for (std::size_t i = 0; i < context_.parts.size(); ++i) {
        const CodePart& part = context_.parts[i];
        if ((imports_only && !part.is_import) || !defines(part, open.front())) continue;
        if (!chosen_[i] && pay(estimated_tokens(piece(unit_.context, part.span)) + 2)) choose(i);
        if (chosen_[i] && !imports_only) {
          open.insert(open.end(), part.uses.begin(), part.uses.end());
          for (const auto& each : part.decorators)
            open.insert(open.end(), each.uses.begin(), each.uses.end());
        }
      }
    }
  }

  static bool defines(const CodePart& part, const std::string& name) {
    return std::ranges::find(part.defines, name) != part.defines.end();
  }

  void choose(std::size_t i) {
    chosen_[i] = true;
    defined_.insert(context_.parts[i].defines.begin(), context_.parts[i].defines.end());
  }

  bool known(const std::vector<std::string>& names) const {
    return std::ranges::all_of(names, [&](const std::string& name) {
      return defined_.contains(name) || harvest::is_builtin_name(name);
    });
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
      const bool again = trim(between).empty() && text.ends_with(part->instead);
      if (!again) text += between;
      if (!again) text += part->instead;
      at = part->span.end;
    }
    return text + std::string(piece(kernel_.text, {at, span.end}));
  }

  std::string imports() const {
    std::string text;
    for (std::size_t i = 0; i < chosen_.size(); ++i)
      if (chosen_[i] && context_.parts[i].is_import) {
        text += trim(piece(unit_.context, context_.parts[i].span));
        text += '\n';
      }
    return text;
  }

  // Definitions, without decorators that nothing in the row defines.
  std::string definitions() const {
    std::string text;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const CodePart& part = context_.parts[i];
      const bool only_signed = signed_[i] && !chosen_[i];
      if ((!chosen_[i] && !only_signed) || part.is_import) continue;
      if (!text.empty()) text += '\n';
      if (only_signed) {
        text += signature(part);
        continue;
      }
      std::size_t at = part.span.begin;
      for (const auto& each : part.decorators) {
        if (known(each.uses)) continue;
        text += piece(unit_.context, {at, std::max(at, each.span.begin)});
        at = each.span.end;
      }
      text += piece(unit_.context, {at, part.span.end});
      if (!text.ends_with('\n')) text += '\n';
    }
    return text;
  }

  Surroundings compose() {
    std::string head;
    for (std::size_t i = 0; i < decorators_.size(); ++i)
      if (decorators_[i] && (is_jit(decorator(i)) || known(kernel_.part.decorators[i].uses)))
        head += decorator(i);
    head += shown({kernel_.definition, wanted_.hole.begin});
    Surroundings around;
    around.before = joined({imports(), definitions(), head});
    if (wanted_.ends_with_hole) return around;
    around.after = shown({wanted_.hole.end, kernel_.text.size()});
    if (wanted_.with_launcher) add_launcher(around);
    return around;
  }

  // The launcher stands alone: its own needs are not shown. A file ends with a newline.
  void add_launcher(Surroundings& around) {
    if (!around.after.ends_with('\n')) around.after += '\n';
    const std::string& launcher = unit_.launcher.text;
    if (launcher.empty() || around.before.find(launcher) != std::string::npos) return;
    if (!harvest::parses(launcher, language_) || !pay(estimated_tokens(launcher) + 2)) return;
    around.after += "\n\n" + launcher + "\n";
  }

  const Unit& unit_;
  const KernelCode& kernel_;
  const Wanted& wanted_;
  harvest::Language language_;
  CodeParts context_;
  std::vector<bool> chosen_;      // parts of the context
  std::vector<bool> signed_;      // parts of which the signature is shown where they are not chosen
  std::vector<bool> decorators_;  // of the kernel
  std::vector<harvest::SparePart> spare_;
  std::vector<bool> shown_;  // of spare_
  NameSet defined_;
  std::size_t left_ = 0;  // tokens
};

}  // namespace

std::expected<Surroundings, std::string_view> surroundings(const Unit& unit, const KernelCode& kernel,
                                                           const Wanted& wanted) {
  return Composer(unit, kernel, wanted).run();
}

}  // namespace kw::pairs
