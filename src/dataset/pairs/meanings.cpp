#include "dataset/pairs/refusals.h"

#include <map>

#include "dataset/extract/code_parts.h"

namespace kw::pairs {

using harvest::Binding;

std::string name_of_two_things(std::string_view python) {
  std::map<std::string, std::string> meanings;
  for (const Binding& binding : harvest::bindings(python)) {
    auto [at, fresh] = meanings.emplace(binding.name, binding.meaning);
    if (!fresh && at->second != binding.meaning && !binding.continues) return binding.name;
    at->second = binding.meaning;
  }
  return {};
}

std::string name_of_two_things(std::string_view python, std::string_view other) {
  std::map<std::string, Binding> first;
  for (const Binding& binding : harvest::bindings(python)) first[binding.name] = binding;
  for (const Binding& binding : harvest::bindings(other)) {
    auto found = first.find(binding.name);
    if (found == first.end() || found->second.meaning == binding.meaning) continue;
    if (found->second.is_import || binding.is_import) return binding.name;
  }
  return {};
}

}  // namespace kw::pairs
