// Verifier: judges a job and returns a verdict.
#pragma once

#include <optional>
#include <string>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "base/core/result.h"
#include "types/job.h"
#include "types/verdict.h"

namespace kw::verify {

class Verifier {
 public:
  virtual ~Verifier() = default;

  // Returns nothing if a stop of this job or of all jobs was requested before the verdict. Both must outlive
  // the wait.
  virtual async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop& stop) = 0;

  // The number of verifications in flight that uses the machine fully.
  virtual std::size_t width() const = 0;

  // Identifies everything that can change a verdict of a job without its own options.
  virtual const std::string& protocol() const = 0;
  // The same for a job with these options, without asking a service.
  virtual std::string protocol_with(const JobOptions& options) const = 0;
  // The protocol that verdicts will have; may ask a service.
  virtual async::Task<Result<std::string>> find_protocol(JobOptions options) {
    co_return protocol_with(options);
  }
};

}  // namespace kw::verify
