// The exact Jaccard index of many pairs, by several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "near/near.h"
#include "near/set_cache.h"

namespace kw::near {

struct VerifyOptions {
  unsigned threads = 1;
  double threshold = 0;
  std::function<bool()> stop;
};

// Fills in `jaccard`; -1 where it is under the threshold. Of several errors, that of the first pair.
Result<> verify(std::span<Pair> pairs, SetCache& sets, const VerifyOptions& options);

}  // namespace kw::near
