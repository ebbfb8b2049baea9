// The tensors of a call that may be placed with an unmapped page behind their end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/messages/message.h"

namespace kw::verify {

struct EdgeTensor {
  std::string name = {};  // "input x", "weight fc.weight"
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool is_weight = false;
};

// `most` inputs and cotangents, the largest first, then weights, of which a module places none. Tensors that
// share a part of their memory are left out: their copies would be two memories.
std::vector<EdgeTensor> edge_tensors(const wire::CallSpecT& spec, std::size_t most);

}  // namespace kw::verify
