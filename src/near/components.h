// What is connected with what.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace kw::near {

class Components {
 public:
  explicit Components(std::uint32_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), std::uint32_t{0});
  }

  // The least number of the component.
  std::uint32_t of(std::uint32_t number) {
    while (parents_[number] != number) {
      parents_[number] = parents_[parents_[number]];
      number = parents_[number];
    }
    return number;
  }

  bool together(std::uint32_t a, std::uint32_t b) { return of(a) == of(b); }

  void connect(std::uint32_t a, std::uint32_t b) {
    a = of(a);
    b = of(b);
    if (a > b) std::swap(a, b);
    parents_[b] = a;
  }

 private:
  std::vector<std::uint32_t> parents_;
};

}  // namespace kw::near
