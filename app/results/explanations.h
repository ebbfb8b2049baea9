// What is said below the table of the candidates that are not plainly right.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/style.h"
#include "explain/explanation.h"

namespace kw {

class Explanations {
 public:
  // The first so many are explained; of the others only the number is said.
  static constexpr std::size_t most = 20;

  explicit Explanations(const Style& style) : style_(style) {}

  // Nothing is said of a verdict that is right and counts.
  void add(const Verdict& verdict, const explain::Sources& sources);
  // A blank line before each; empty where there is nothing to explain.
  std::string text() const;

 private:
  Style style_;
  std::vector<std::string> texts_;
  std::size_t left_out_ = 0;
};

}  // namespace kw
