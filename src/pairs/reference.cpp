#include "pairs/reference.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/ascii.h"
#include "pairs/words.h"

namespace kw::pairs {
namespace {

using corpus::Unit;
using corpus::UnitKind;
using Names = std::set<std::string, std::less<>>;

// Of `Class.forward` and `Class.apply` the class: the methods' own names say nothing.
std::string_view owner(std::string_view name) {
  for (std::string_view method : {".forward", ".backward", ".apply", ".__call__", ".run"})
    if (name.ends_with(method)) return name.substr(0, name.size() - method.size());
  return name;
}

bool calls_one_of(const Unit& unit, const Names& names) {
  return std::ranges::any_of(unit.calls,
                             [&](const std::string& call) { return names.contains(owner(call)); });
}

// Marks of other ways to a kernel, in the imports that the unit needs or in its own text.
constexpr std::array<std::string_view, 15> other_ways = {
    "cuda.tile", "ct.launch", "cutlass", "cute.",  "tilelang", "pallas",      "numba",      "cupy",
    "tvm",       "torch.ops", "_C.",     "quack.", "[grid]",   "load_inline", "flashinfer."};

// `RmsNormFunction.apply(...)`: an autograd function that somebody wrote. A module's own apply() is none.
bool applies_a_function(std::string_view text) {
  constexpr std::string_view call = ".apply(";
  for (std::size_t at = text.find(call); at != std::string_view::npos; at = text.find(call, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_word(text[begin - 1])) --begin;
    if (begin < at && text[begin] >= 'A' && text[begin] <= 'Z') return true;
  }
  return false;
}

bool goes_another_way(const Unit& unit) {
  if (applies_a_function(unit.text)) return true;
  return std::ranges::any_of(other_ways, [&](std::string_view mark) {
    return unit.text.find(mark) != std::string::npos || unit.context.find(mark) != std::string::npos;
  });
}

}  // namespace

Names names_that_launch(const std::vector<Unit>& units) {
  Names names;
  for (const Unit& unit : units) {
    if (unit.kind != UnitKind::triton) continue;
    names.insert(unit.name);
    for (const corpus::Launch& launch : unit.launches)
      if (!launch.caller.empty()) names.emplace(owner(launch.caller));
  }
  // A chain of wrappers is short; each round follows it one step.
  constexpr int most_rounds = 8;
  for (int round = 0; round < most_rounds; ++round) {
    std::size_t before = names.size();
    for (const Unit& unit : units)
      if (unit.kind == UnitKind::torch && !names.contains(unit.name) && calls_one_of(unit, names))
        names.insert(unit.name);
    if (names.size() == before) break;
  }
  return names;
}

bool is_reference(const Unit& unit, const Names& launching) {
  std::vector<std::string> words = words_of(unit.name);
  for (std::string_view pretended : {"fake", "meta", "mock", "abstract", "benchmark", "bench"})
    if (std::ranges::find(words, pretended) != words.end()) return false;
  return !calls_one_of(unit, launching) && !goes_another_way(unit);
}

}  // namespace kw::pairs
