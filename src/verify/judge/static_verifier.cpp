#include "verify/judge/static_verifier.h"

#include <utility>

#include "verify/judge/attempt.h"
#include "verify/judge/protocol.h"
#include "verify/judge/verdict_writer.h"

namespace kw::verify {

bool is_refused_by_source(const Job& job) {
  return examine_statically(job).has_value();
}

StaticVerifier::StaticVerifier(Settings settings, std::string program_version)
    : settings_(std::move(settings)),
      program_version_(std::move(program_version)),
      protocol_(StaticVerifier::protocol_with({})) {}

async::Task<std::optional<Verdict>> StaticVerifier::verify(const Job& job, async::Stop& stop) {
  if (stop.requested()) co_return std::nullopt;
  Environment environment;
  environment.program_version = program_version_;
  environment.protocol = protocol_with(job.options);
  VerdictWriter writer(job, with_options(settings_, job.options), environment);
  std::optional<Blame> blame;
  {
    const Timeline::Row none;
    StageTimer timer(writer.stage_times(), none, Stage::static_);
    blame = examine_statically(job);
  }
  if (!blame)
    co_return no_verdict(job, "the candidate was not refused by its source, and no process was started");
  writer.end(*blame);
  co_return std::move(writer.verdict());
}

std::string StaticVerifier::protocol_with(const JobOptions& options) const {
  return protocol_hash(with_options(settings_, options), {}, "");
}

}  // namespace kw::verify
