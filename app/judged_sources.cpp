#include "judged_sources.h"

#include <utility>
#include <variant>

#include "loop/tasks/source.h"
#include "options/input_flags.h"
#include "types/job.h"
#include "verifier_source.h"

namespace kw::app {

Result<JudgedSources> read_judged_sources(const std::vector<std::string>& input,
                                          const std::function<bool(const std::string& sha256)>& wanted) {
  JudgedSources sources;
  if (input.empty()) return sources;
  InputFlags flags;
  flags.paths = input;
  auto source = flags.open(parquet_helper(""));
  if (!source) return std::unexpected(source.error());
  while (true) {
    auto next = (*source)->next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return sources;
    const auto* job = std::get_if<Job>(&**next);
    if (job == nullptr) continue;
    std::string key = candidate_sha256(job->candidate.code);
    if (wanted(key))
      sources.try_emplace({std::move(key), job->id}, job->candidate.code, job->task.reference_code,
                          job->candidate.origin, job->task.origin);
  }
}

const JudgedSource* find_source(const JudgedSources& sources, const std::string& sha256,
                                const std::string& id) {
  auto found = sources.find({sha256, id});
  if (found == sources.end()) found = sources.lower_bound({sha256, ""});
  return found == sources.end() || found->first.first != sha256 ? nullptr : &found->second;
}

}  // namespace kw::app
