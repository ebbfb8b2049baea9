// TraceReader: traces one at a time, in a stable order, from whatever keeps them.
#pragma once

#include <optional>

#include "base/result.h"
#include "schema/trace.h"

namespace kw::store {

class TraceReader {
 public:
  virtual ~TraceReader() = default;

  // The next trace; nothing at the end. After an error nothing else comes.
  virtual Result<std::optional<Trace>> next() = 0;
};

}  // namespace kw::store
