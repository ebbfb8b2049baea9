// Operations of PyTorch whose names kernels have, with the way to call them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kw::synth {

struct Operation {
  std::string_view name;  // "relu"
  std::string_view family;
  std::string_view parameters;  // "x, y"
  std::string_view expression;  // "torch.maximum(x, y)"; empty: torch.NAME(parameters)
  std::string_view inputs;      // "torch.randn(SHAPE), torch.randn(SHAPE)"
  std::string_view edges = {};  // lines of get_inputs that set special values: "x.view(-1)[::5] = 0.0"
  bool in_place = false;        // writes its result to x; the kernel's name is "relu_"

  std::string full_name() const { return std::string(name) + (in_place ? "_" : ""); }
};

// The operation of this name. A unary or binary operation has an in-place form too, as `abs_`.
std::optional<Operation> operation_of(std::string_view name);

// A module with a function of the operation's name and its `get_inputs`. Seed and name choose the shape.
std::string reference_of(const Operation& operation, std::uint64_t seed);

}  // namespace kw::synth
