#include "dataset/pairs/launcher_choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dataset/extract/code_parts.h"
#include "dataset/pairs/code_text.h"
#include "dataset/pairs/context_choice.h"
#include "dataset/pairs/refusals.h"
#include "dataset/pairs/token_estimate.h"

namespace kw::pairs {
namespace {

using harvest::CodePart;
using harvest::CodeParts;
using harvest::Language;

constexpr std::size_t tokens_around = 4;  // blank lines before and after it

ContextChoice::NameSet names_defined_by(std::string_view code) {
  ContextChoice::NameSet names;
  for (const CodePart& part : harvest::code_parts(code, Language::python).parts)
    names.insert(part.defines.begin(), part.defines.end());
  return names;
}

bool pay(std::string_view text, std::size_t& left) {
  const std::size_t tokens = estimated_tokens(text) + tokens_around;
  if (tokens > left) return false;
  left -= tokens;
  return true;
}

// The function without the decorators that the imports do not define.
std::string with_known_decorators(std::string_view launcher, const CodePart& part,
                                  const ContextChoice& choice) {
  std::string text;
  std::size_t at = 0;
  for (const auto& decorator : part.decorators) {
    if (choice.knows(decorator.uses)) continue;
    text += launcher.substr(at, decorator.span.begin - at);
    at = decorator.span.end;
  }
  return text + std::string(launcher.substr(at));
}

// Whether launcher and kernel, from two files, mean another thing by one name.
bool is_ambiguous(const corpus::Unit& unit) {
  return !name_of_two_things(joined({unit.launcher.context, unit.launcher.text})).empty();
}

}  // namespace

std::optional<ShownLauncher> shown_launcher(const corpus::Unit& unit, std::string_view row,
                                            std::size_t tokens) {
  const std::string& launcher = unit.launcher.text;
  std::size_t left = tokens;
  if (launcher.empty() || row.contains(launcher) || !pay(launcher, left)) return {};
  const CodeParts parts = harvest::code_parts(launcher, Language::python);
  if (!parts.parses || parts.parts.size() != 1) return {};
  const CodePart& part = parts.parts.front();
  ContextChoice::NameSet known = names_defined_by(row);
  // Other code gave the kernel another name before, or the row shows the launcher by its signature.
  if (std::ranges::any_of(part.defines, [&](const std::string& name) { return known.contains(name); }))
    return {};
  if (is_ambiguous(unit)) return {};
  known.insert(part.defines.begin(), part.defines.end());
  ContextChoice choice(unit.launcher.context, unit.launcher.own_imports, std::move(known), Language::python);
  choice.take_imports(part.uses, left);
  for (const auto& decorator : part.decorators) choice.take_imports(decorator.uses, left);
  const std::string function = with_known_decorators(launcher, part, choice);
  for (const std::string& name : part.uses)
    if (!choice.take_short(name, left)) return {};
  ShownLauncher shown{.imports = choice.imports(), .text = joined({choice.definitions(), function})};
  return shown;
}

}  // namespace kw::pairs
