// Verdicts from source alone: a verifier that starts no process, for runs in which every candidate is refused
// before any process would be needed.
#pragma once

#include <string>

#include "types/job.h"
#include "types/options.h"
#include "verify/api/verifier.h"

namespace kw::verify {

// Whether LocalVerifier refuses the candidate without a process.
bool is_refused_by_source(const Job& job);

// Gives those candidates the verdict of LocalVerifier, except that the protocol and the environment contain
// no versions of Python's libraries. Other candidates get no verdict.
class StaticVerifier : public Verifier {
 public:
  StaticVerifier(Settings settings, std::string program_version);

  async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop& stop) override;
  std::size_t width() const override { return 1; }
  const std::string& protocol() const override { return protocol_; }
  std::string protocol_with(const JobOptions& options) const override;

 private:
  Settings settings_;
  std::string program_version_;
  std::string protocol_;
};

}  // namespace kw::verify
