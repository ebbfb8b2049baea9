// Verifier: a candidate in, a verdict out.
#pragma once

#include <optional>
#include <string>

#include "async/loop.h"
#include "async/stop.h"
#include "base/result.h"
#include "schema/job.h"
#include "schema/verdict.h"

namespace kw::verify {

class Verifier {
 public:
  virtual ~Verifier() = default;

  // Nothing where `stop`, of this job or of all, was requested before there was a verdict. Both must outlive
  // the wait.
  virtual async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop& stop) = 0;

  // How many verifications at once keep the machine busy.
  virtual std::size_t width() const = 0;

  // Identifies everything that can change a verdict, of a job without options of its own.
  virtual const std::string& protocol() const = 0;
  // The same of a job with these options: by whatever name they have here, at once.
  virtual std::string protocol_with(const JobOptions& options) const = 0;
  // The name that verdicts will have, which may have to be asked for.
  virtual async::Task<Result<std::string>> find_protocol(JobOptions options) {
    co_return protocol_with(options);
  }
};

}  // namespace kw::verify
