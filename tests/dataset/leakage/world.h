// A small benchmark: problems that share a frame, as real ones do.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "dataset/leakage/leak.h"

namespace kw::leak {

inline std::string problem(const std::string& about, const std::string& body, int size) {
  return fmt::format(R"(import torch
import torch.nn as nn

class Model(nn.Module):
    """
    {0}
    """
    def __init__(self, in_features, out_features, slope):
        super(Model, self).__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.slope = slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """
        Args:
            x (torch.Tensor): Input tensor.
        """
        x = self.linear(x)  # first the layer
        {1}
        return x

batch_size = {2}
in_features = {3}
out_features = 640
slope = 0.1

def get_inputs():
    return [torch.rand(batch_size, in_features)]

def get_init_inputs():
    return [in_features, out_features, slope]
)",
                     about, body, size, 2 * size);
}

inline const std::string& gelu() {
  static const std::string text =
      problem("Applies a layer, then GELU gated by the slope, then the sum of absolute values.",
              "gate = torch.sigmoid(x * self.slope)\n"
              "        x = torch.nn.functional.gelu(x, approximate='tanh') * gate\n"
              "        x = torch.sum(torch.abs(x), dim=1, keepdim=True) / x.shape[-1]",
              128);
  return text;
}

inline std::vector<Reference> benchmark() {
  std::vector<Reference> all{{"Bench", "1_gelu.py", gelu()}};
  const char* operations[] = {"relu", "tanh", "sigmoid", "exp", "log", "sqrt", "sin", "cos", "erf", "floor"};
  for (int i = 0; i < 10; ++i)
    all.push_back({"Bench", fmt::format("{}_{}.py", i + 2, operations[i]),
                   problem(fmt::format("Applies a layer and {}.", operations[i]),
                           fmt::format("x = torch.{}(x)", operations[i]), 200 + i)});
  return all;
}

}  // namespace kw::leak
