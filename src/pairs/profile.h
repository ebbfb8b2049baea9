// What the matcher knows of a unit: words of its names, its parameters, its calls.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "corpus/unit.h"
#include "pairs/operations.h"

namespace kw::pairs {

using Words = std::vector<std::string>;  // sorted, each once, but for names: in the name's order

struct Profile {
  std::size_t unit = 0;      // index
  std::string name;          // as written
  std::vector<Words> names;  // the unit's own first, then those of the functions that launch it
  Words all_names;           // the words of all of them
  std::vector<std::string> launchers;
  Words parameters;  // normalised names, launcher's ones too where asked for
  Words calls;       // words of the names that it calls
  Words path;        // words of file and folder names
  Operations operations = 0;
};

// How many kernels each function launches, by its file and name.
using Launched = std::map<std::pair<std::string, std::string>, std::size_t>;
Launched count_launched(const std::vector<corpus::Unit>& units);

// A launcher lends its name to a kernel only if it launches no other: of several, each does a part.
Profile profile_of(const corpus::Unit& unit, std::size_t index, const Launched& launched);

// The names of a Python function's parameters, from its source.
std::vector<std::string> parameter_names(std::string_view function);

// How rare a word is: ln((max(N, 1000) + 1) / n) where n of the N lists that were added have it.
class Rarity {
 public:
  void add(const Words& words);
  double of(const std::string& word) const;
  // Σ rarity of the words that both have, by Σ rarity of those that either has: 0 to 1.
  double likeness(const Words& a, const Words& b) const;
  // Σ rarity of the words that both have.
  double shared(const Words& a, const Words& b) const;
  // Σ rarity of the words that both have, by that of the list with less of it: 0 to 1.
  double overlap(const Words& a, const Words& b) const;

 private:
  std::unordered_map<std::string, std::size_t> lists_;
  std::size_t count_ = 0;
};

Words common(const Words& a, const Words& b);

}  // namespace kw::pairs
