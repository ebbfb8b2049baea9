#include "dataset/pairs/context_choice.h"

#include <algorithm>
#include <utility>

#include "base/core/text.h"
#include "dataset/pairs/code_text.h"
#include "dataset/pairs/token_estimate.h"
#include "dataset/units/code_words.h"

namespace kw::pairs {

using harvest::CodePart;
using harvest::Language;

namespace {

constexpr std::size_t tokens_between = 2;  // blank lines

// Pieces of documents often import nothing; these two mean the same in all of them.
bool is_triton(std::string_view name) {
  return name == "tl" || name == "triton";
}

}  // namespace

bool is_jit(std::string_view decorator) {
  return decorator.find("jit") != decorator.npos && decorator.size() < 200;
}

ContextChoice::ContextChoice(std::string_view context, std::string_view own_imports, NameSet known,
                             Language language)
    : text_(context), language_(language), context_(harvest::code_parts(context, language)) {
  state_.chosen.assign(context_.parts.size(), false);
  state_.signed_only.assign(context_.parts.size(), false);
  state_.defined = std::move(known);
  for (std::size_t i = 0; i < context_.parts.size(); ++i)
    for (const std::string& name : context_.parts[i].defines)
      if (language == Language::cuda || !state_.defined.contains(name)) by_name_[name].push_back(i);
  signatures_.reserve(context_.parts.size());
  for (std::size_t i = 0; i < context_.parts.size(); ++i) signatures_.push_back(signature_of(i));
  if (language == Language::python) read_own_imports(own_imports);
}

void ContextChoice::read_own_imports(std::string_view lines) {
  for (const CodePart& part : harvest::code_parts(lines, language_).parts)
    for (const std::string& name : part.defines)
      own_imports_[name] = std::string(lines.substr(part.span.begin, part.span.end - part.span.begin));
}

std::string_view ContextChoice::text_of(corpus::Span span) const {
  return text_.substr(span.begin, span.end - span.begin);
}

ContextChoice::Signature ContextChoice::signature_of(std::size_t part) const {
  if (language_ != Language::python) return {};
  std::size_t begin = context_.parts[part].span.begin;
  Signature signature;
  for (const auto& each : context_.parts[part].decorators) {
    begin = std::max(begin, each.span.end);
    if (is_jit(text_of(each.span))) signature.text += text_of(each.span);
  }
  const std::string_view definition = text_of({begin, context_.parts[part].span.end});
  if (!definition.starts_with("def ")) return {};
  const std::string code = corpus::without_words(definition, corpus::Syntax::python);
  int depth = 0;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (std::string_view("([{").contains(code[at])) ++depth;
    if (std::string_view(")]}").contains(code[at])) --depth;
    if (code[at] != ':' || depth > 0) continue;
    signature.text += definition.substr(0, at + 1);
    signature.text += "\n    ...\n";
    for (const CodePart& each : harvest::code_parts(signature.text, language_).parts) {
      signature.uses = each.uses;
      for (const auto& decorator : each.decorators)
        signature.uses.insert(signature.uses.end(), decorator.uses.begin(), decorator.uses.end());
    }
    return signature;
  }
  return {};
}

const std::vector<std::size_t>* ContextChoice::defining(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &found->second;
}

// Headers of CUDA define names that no text shows.
bool ContextChoice::may_come_from_elsewhere(std::string_view name) const {
  return language_ != Language::python || state_.has_star || is_triton(name);
}

// A definition of the context hides a name of Python.
bool ContextChoice::is_defined(std::string_view name) const {
  return state_.defined.contains(name) || (harvest::is_builtin_name(name) && defining(name) == nullptr);
}

bool ContextChoice::is_signed(std::string_view name) const {
  const auto* parts = defining(name);
  return parts != nullptr &&
         std::ranges::any_of(*parts, [&](std::size_t part) { return state_.signed_only[part]; });
}

bool ContextChoice::knows(const std::vector<std::string>& names) const {
  return std::ranges::all_of(names, [&](const std::string& name) { return is_defined(name); });
}

std::size_t ContextChoice::cost(std::size_t part) const {
  return estimated_tokens(text_of(context_.parts[part].span)) + tokens_between;
}

bool ContextChoice::holds_function(std::size_t part) const {
  return holds_word(corpus::without_words(text_of(context_.parts[part].span), corpus::Syntax::python), "def");
}

void ContextChoice::choose(std::size_t part) {
  state_.chosen[part] = true;
  state_.defined.insert(context_.parts[part].defines.begin(), context_.parts[part].defines.end());
}

void ContextChoice::take_stars(std::size_t& left) {
  for (std::size_t i = 0; i < context_.parts.size(); ++i) {
    if (!context_.parts[i].is_import || !context_.parts[i].defines.empty()) continue;
    if (cost(i) > left) continue;
    left -= cost(i);
    choose(i);
    state_.has_star = state_.has_star || text_of(context_.parts[i].span).contains('*');
  }
}

void ContextChoice::take_imports(const std::vector<std::string>& names, std::size_t& left) {
  for (const std::string& name : names) {
    const auto* parts = is_defined(name) ? nullptr : defining(name);
    if (parts == nullptr) continue;
    for (std::size_t part : *parts)
      if (context_.parts[part].is_import && !state_.chosen[part] && cost(part) <= left) {
        left -= cost(part);
        choose(part);
      }
  }
}

void ContextChoice::add_part(std::size_t part, Extent extent, Plan& plan,
                             std::deque<std::string>& open) const {
  if (state_.chosen[part] || !plan.whole.insert(part).second) return;
  plan.tokens += cost(part);
  const CodePart& code = context_.parts[part];
  open.insert(open.end(), code.uses.begin(), code.uses.end());
  for (const auto& each : code.decorators) {
    if (extent != Extent::all && !is_jit(text_of(each.span))) continue;
    // One that nothing defines is not shown.
    const bool may_be_shown = std::ranges::all_of(
        each.uses, [&](const std::string& name) { return is_defined(name) || defining(name) != nullptr; });
    if (may_be_shown) open.insert(open.end(), each.uses.begin(), each.uses.end());
  }
}

ContextChoice::Plan ContextChoice::plan(const std::string& name, Extent extent) const {
  Plan plan;
  NameSet seen;
  for (std::deque<std::string> open{name}; !open.empty(); open.pop_front()) {
    const std::string& needed = open.front();
    if (is_defined(needed) || !seen.insert(needed).second) continue;
    const bool may_import = extent == Extent::imported || extent == Extent::imported_and_signatures;
    if (auto line = own_imports_.find(needed); may_import && line != own_imports_.end()) {
      if (is_signed(needed)) continue;
      plan.imported.insert(needed);
      plan.tokens += estimated_tokens(line->second) + 1;
      continue;
    }
    const auto* parts = defining(needed);
    if (parts == nullptr) {
      plan.is_complete = plan.is_complete && may_come_from_elsewhere(needed);
      continue;
    }
    for (std::size_t part : *parts) {
      const bool wants_short =
          extent == Extent::imported_and_signatures || (extent == Extent::signatures && needed != name);
      const bool is_short = wants_short && !signatures_[part].text.empty();
      if (extent == Extent::imported_and_signatures && !is_short && holds_function(part))
        plan.is_complete = false;
      if (!is_short) {
        add_part(part, extent, plan, open);
      } else if (!state_.chosen[part] && !state_.signed_only[part] && plan.signatures.insert(part).second) {
        plan.tokens += estimated_tokens(signatures_[part].text) + tokens_between;
        open.insert(open.end(), signatures_[part].uses.begin(), signatures_[part].uses.end());
      }
    }
  }
  return plan;
}

bool ContextChoice::adopt(const Plan& plan, std::size_t& left) {
  if (!plan.is_complete || plan.tokens > left) return false;
  left -= plan.tokens;
  for (std::size_t part : plan.whole) choose(part);
  for (std::size_t part : plan.signatures) state_.signed_only[part] = true;
  state_.imported.insert(plan.imported.begin(), plan.imported.end());
  state_.defined.insert(plan.imported.begin(), plan.imported.end());
  return true;
}

bool ContextChoice::take_one(const std::string& name, std::size_t& left) {
  if (is_defined(name) || defining(name) == nullptr) return true;
  for (Extent extent : {Extent::all, Extent::no_decorators, Extent::signatures}) {
    if (language_ != Language::python && extent != Extent::all) break;
    if (adopt(plan(name, extent), left)) return true;
  }
  return false;
}

void ContextChoice::take(const std::vector<std::string>& names, std::size_t& left) {
  for (const std::string& name : names) take_one(name, left);
}

bool ContextChoice::take_imported(const std::string& name, std::size_t& left) {
  return is_defined(name) || is_signed(name) || adopt(plan(name, Extent::imported), left);
}

bool ContextChoice::take_short(const std::string& name, std::size_t& left) {
  return is_defined(name) || adopt(plan(name, Extent::imported_and_signatures), left);
}

std::optional<ContextChoice::Plan> ContextChoice::shortest_plan(const std::string& name) const {
  std::optional<Plan> shortest;
  for (Extent extent : {Extent::all, Extent::imported, Extent::imported_and_signatures}) {
    Plan found = plan(name, extent);
    if (found.is_complete && (!shortest || found.tokens < shortest->tokens)) shortest = std::move(found);
  }
  return shortest;
}

std::optional<std::size_t> ContextChoice::least_tokens(const std::string& name) const {
  if (is_defined(name) || is_signed(name)) return 0;
  const auto shortest = shortest_plan(name);
  return shortest ? std::optional(shortest->tokens) : std::nullopt;
}

void ContextChoice::take_shortest(const std::string& name, std::size_t& left) {
  if (is_defined(name) || is_signed(name)) return;
  if (const auto shortest = shortest_plan(name)) adopt(*shortest, left);
}

bool ContextChoice::take_signature(const std::string& name, std::size_t& left) {
  const auto* parts = is_defined(name) ? nullptr : defining(name);
  if (parts == nullptr) return false;
  for (std::size_t i = parts->size(); i-- > 0;) {
    const std::size_t part = (*parts)[i];
    if (state_.signed_only[part]) return true;
    if (signatures_[part].text.empty()) continue;
    State before = state_;
    std::size_t rest = left;
    take(signatures_[part].uses, rest);
    const std::size_t tokens = estimated_tokens(signatures_[part].text) + tokens_between;
    const bool is_whole = std::ranges::all_of(signatures_[part].uses, [&](const std::string& use) {
      return is_defined(use) || may_come_from_elsewhere(use);
    });
    if (!is_whole || tokens > rest) {
      state_ = std::move(before);
      continue;
    }
    left = rest - tokens;
    state_.signed_only[part] = true;
    return true;
  }
  return false;
}

void ContextChoice::take_alone(const std::string& name, std::size_t& left) {
  const auto* parts = is_defined(name) ? nullptr : defining(name);
  if (parts == nullptr) return;
  for (std::size_t part : *parts) {
    if (state_.chosen[part] || state_.signed_only[part] || cost(part) > left) continue;
    left -= cost(part);
    choose(part);
    for (const std::string& use : context_.parts[part].uses)
      if (!take_one(use, left)) take_signature(use, left);
  }
}

std::string ContextChoice::imports() const {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < context_.parts.size(); ++i)
    if (state_.chosen[i] && context_.parts[i].is_import)
      lines.emplace_back(trim(text_of(context_.parts[i].span)));
  const auto begin_of_own = static_cast<std::ptrdiff_t>(lines.size());
  for (const std::string& name : state_.imported) lines.push_back(own_imports_.at(name));
  std::sort(lines.begin() + begin_of_own, lines.end());
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

std::string ContextChoice::definitions() const {
  std::string text;
  for (std::size_t i = 0; i < context_.parts.size(); ++i) {
    const CodePart& part = context_.parts[i];
    if ((!state_.chosen[i] && !state_.signed_only[i]) || part.is_import) continue;
    if (!text.empty()) text += '\n';
    if (!state_.chosen[i]) {
      text += signatures_[i].text;
      continue;
    }
    std::size_t at = part.span.begin;
    for (const auto& each : part.decorators) {
      if (knows(each.uses)) continue;
      text += text_of({at, std::max(at, each.span.begin)});
      at = each.span.end;
    }
    text += text_of({at, part.span.end});
    if (!text.ends_with('\n')) text += '\n';
  }
  return text;
}

}  // namespace kw::pairs
