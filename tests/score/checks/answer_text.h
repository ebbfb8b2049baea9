// Answers of a given shape for the static checks.
#pragma once

#include <fmt/format.h>

#include <string>

#include "score/checks/idioms.h"

namespace kw::score {

// An answer: the lines before the kernel, the kernel's body, and the body of forward.
struct Source {
  std::string before = "\n";
  std::string decorators = "@triton.jit\n";
  std::string kernel =
      "    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
      "    tl.store(out_ptr + offs, tl.load(x_ptr + offs))\n";
  std::string forward = "        relu[(n // 256,)](x, out, n, BLOCK=256)\n        return out\n";
  std::string after = "\n";
};

inline std::string text_of(const Source& source) {
  return fmt::format(
      "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n{}"
      "{}def relu(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n{}\n"
      "class ModelNew(nn.Module):\n    def forward(self, x, y):\n"
      "        out = torch.empty_like(x)\n        n = x.numel()\n{}{}",
      source.before, source.decorators, source.kernel, source.forward, source.after);
}

inline Idioms check(const Source& source) {
  return find_idioms(text_of(source));
}

inline const std::string masked =
    "    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    mask = offs < n\n"
    "    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=mask), mask=mask)\n";

}  // namespace kw::score
