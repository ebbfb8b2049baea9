// Judge: the verifier behind the tools, which starts at its first use.
#pragma once

#include <functional>
#include <string_view>

#include "base/async/loop.h"
#include "base/core/result.h"
#include "verify/api/shared_verifier.h"

namespace kw::mcp {

class Judge {
 public:
  virtual ~Judge() = default;

  // The verifier, which lives as long as the judge. The first call starts it, and a call after a failure
  // tries again; `say` gets the words for the wait. The wait may be cancelled: the start goes on.
  virtual async::Task<Result<verify::SharedVerifier*>> ready(
      std::function<void(std::string_view what)> say) = 0;
};

}  // namespace kw::mcp
