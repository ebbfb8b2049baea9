// Verifier: a candidate in, a verdict out.
#pragma once

#include <optional>

#include "async/loop.h"
#include "schema/job.h"
#include "schema/verdict.h"

namespace kw::verify {

class Verifier {
 public:
  virtual ~Verifier() = default;

  // Nothing where a stop was requested before there was a verdict. `job` must outlive the wait.
  virtual async::Task<std::optional<Verdict>> verify(const Job& job) = 0;

  // How many verifications at once keep the machine busy.
  virtual std::size_t width() const = 0;

  // Identifies everything that can change a verdict.
  virtual const std::string& protocol() const = 0;
};

}  // namespace kw::verify
