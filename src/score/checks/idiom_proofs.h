// What a source asserts about sizes. Private to this folder.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "score/checks/idiom_parts.h"

namespace kw::score {

// Proofs that a block divides the size that it covers. They compare names, not dimensions: which size an
// assertion is about, and which size the offsets cover, is not compared.
class Proofs {
 public:
  Proofs(Node root, const Aliases& aliases, const HostFacts& host);

  // Whether a size of a block is proven: every launch gives a value for it that is an asserted divisor,
  // divides one, or is a tensor's whole dimension.
  bool proves(const KernelFacts& kernel, const std::string& size) const;

  // Whether a name is the result of a test of divisibility: EVEN_N = n % BLOCK == 0, also in heuristics.
  bool is_flag(const std::string& name) const;

 private:
  void note_value(Node assignment);
  void note_launch(const LaunchSite& launch);
  bool is_proven(const std::string& size, const std::set<std::string>& divisors, int depth = 0) const;
  static bool is_dimension_text(const std::string& text);

  const Aliases& aliases_;
  std::set<std::string> divisors_;
  std::set<std::string> flags_;
  std::map<std::string, std::vector<Node>> values_;
  std::map<std::string, std::vector<std::map<std::string, std::string>>> launches_;  // arguments, by kernel
};

}  // namespace kw::score
