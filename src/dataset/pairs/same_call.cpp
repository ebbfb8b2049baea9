#include "dataset/pairs/refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/core/text.h"
#include "dataset/extract/code_parts.h"
#include "dataset/pairs/code_text.h"
#include "dataset/units/code_words.h"

namespace kw::pairs {
namespace {

using corpus::Parameter;
using harvest::CallShape;

bool is_star(const Parameter& parameter) {
  return parameter.name.starts_with('*');
}

const Parameter* find(const CallShape& shape, std::string_view name) {
  auto found = std::ranges::find(shape.parameters, name, &Parameter::name);
  return found == shape.parameters.end() ? nullptr : &*found;
}

// Arguments are given by position as long as they must be given at all.
std::vector<std::string> required(const CallShape& shape) {
  std::vector<std::string> names;
  for (const Parameter& parameter : shape.parameters)
    if (parameter.preset.empty() && !is_star(parameter)) names.push_back(parameter.name);
  return names;
}

std::string parameter_difference(const CallShape& reference, const CallShape& launcher) {
  if (std::ranges::any_of(launcher.parameters, is_star) || std::ranges::any_of(reference.parameters, is_star))
    return {};
  for (const std::string& name : required(launcher)) {
    const Parameter* other = find(reference, name);
    if (other == nullptr)
      return fmt::format("it needs {}, which the reference does not have", shorten(name, 80));
    if (!other->preset.empty())
      return fmt::format("it needs {}, which the reference has a default for", shorten(name, 80));
  }
  const std::vector<std::string> names = required(reference);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (find(launcher, names[i]) == nullptr) return fmt::format("it does not take {}", shorten(names[i], 80));
    if (launcher.parameters[i].name != names[i]) return "its parameters have another order";
  }
  return {};
}

// Where nothing in common is returned, and no number is unknown.
bool returns_other_number(const CallShape& reference, const CallShape& launcher) {
  const std::set<std::size_t> counts(reference.returned.begin(), reference.returned.end());
  if (counts.empty() || launcher.returned.empty() || counts.contains(0)) return false;
  return std::ranges::none_of(launcher.returned,
                              [&](std::size_t count) { return count == 0 || counts.contains(count); });
}

}  // namespace

std::string call_difference(std::string_view reference, std::string_view launcher) {
  const auto from = harvest::call_shape(reference);
  const auto to = harvest::call_shape(launcher);
  if (!from || !to) return {};
  if (std::string why = parameter_difference(*from, *to); !why.empty()) return why;
  return returns_other_number(*from, *to) ? "it returns another number of values" : "";
}

namespace {

// Whether a call of this function compares with a number: tl.minimum(x, 0.0).
bool calls_with_number(std::string_view code, std::string_view function) {
  for (std::size_t at = code.find(function); at != code.npos; at = code.find(function, at + 1)) {
    const std::size_t begin = at + function.size();
    int depth = 1;
    std::size_t last = begin;  // of the last argument
    for (std::size_t i = begin; i < code.size() && depth > 0; ++i) {
      if (std::string_view("([{").contains(code[i])) ++depth;
      if (std::string_view(")]}").contains(code[i])) --depth;
      if (code[i] == ',' && depth == 1) last = i + 1;
      if (depth > 0) continue;
      const std::string_view argument = trim(code.substr(last, i - last));
      const bool is_number = !argument.empty() && argument.contains('.') &&
                             argument.find_first_not_of("-+.0123456789e") == argument.npos;
      if (is_number) return true;
    }
  }
  return false;
}

}  // namespace

bool clamps_alone(std::string_view reference, std::string_view kernel) {
  const std::string from = corpus::without_words(reference, corpus::Syntax::python);
  const std::string to = corpus::without_words(kernel, corpus::Syntax::python);
  const bool clamps = calls_with_number(to, "tl.minimum(") || calls_with_number(to, "tl.maximum(") ||
                      to.contains("tl.clamp(");
  if (!clamps) return false;
  for (std::string_view word : {"clamp", "clip", "relu", "min", "max", "minimum", "maximum", "clamp_", "amax",
                                "amin", "softmax", "hardtanh"})
    if (holds_word(from, word)) return false;
  return true;
}

}  // namespace kw::pairs
