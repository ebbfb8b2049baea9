// The matcher's data of a unit: words of its names, its parameters, its calls and its operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dataset/units/unit.h"

namespace kw::pairs {

// A set of operations, one bit each.
using Operations = std::uint32_t;

// Operations that the text names in CUDA, Triton or PyTorch: `__expf`, `tl.exp2`. Includes
// comments. One pass over the text.
Operations operations_in(std::string_view text);

std::vector<std::string> operation_names(Operations operations);

using Words = std::vector<std::string>;  // sorted, each once, but for names: in the name's order

// The matcher's data of a unit: words of its names, its parameters, its calls.
struct Profile {
  std::size_t unit = 0;      // index
  std::string name;          // as written
  std::vector<Words> names;  // the unit's own first, then those of the functions that launch it
  Words all_names;           // the words of all of them
  std::vector<std::string> launchers;
  Words parameters;  // normalised names, including the launchers'
  Words calls;       // words of the names that it calls
  Words path;        // words of file and folder names
  Operations operations = 0;
};

// The number of kernels that each function launches, by its file and name.
using Launched = std::map<std::pair<std::string, std::string>, std::size_t>;
Launched count_launched(const std::vector<corpus::Unit>& units);

// A launcher's name describes a kernel only if it launches no other: of several kernels, each does a part.
Profile profile_of(const corpus::Unit& unit, std::size_t index, const Launched& launched);

// The names of a Python function's parameters, from its source.
std::vector<std::string> parameter_names(std::string_view function);

// The rarity of a word: ln((max(N, 1000) + 1) / n), where n of the N added lists contain it.
class Rarity {
 public:
  void add(const Words& words);
  double of(const std::string& word) const;
  // Σ rarity of the common words, divided by Σ rarity of all words of both: 0 to 1.
  double likeness(const Words& a, const Words& b) const;
  // Σ rarity of the common words.
  double shared(const Words& a, const Words& b) const;
  // Σ rarity of the common words, divided by the smaller Σ rarity of one list: 0 to 1.
  double overlap(const Words& a, const Words& b) const;

 private:
  std::unordered_map<std::string, std::size_t> lists_;
  std::size_t count_ = 0;
};

Words common(const Words& a, const Words& b);

}  // namespace kw::pairs
