#include "serve/hidden_reference.h"

#include <array>
#include <string_view>

namespace kw::service {
namespace {

// Findings on the reference that go on with text of its own: the words that stay.
constexpr std::array quoting{
    std::string_view("no error budget, since the reference does not run in float64"),
    std::string_view("the reference leaves something behind in its process"),
    std::string_view("the reference is timed by events in the oracle, since it cannot be replayed"),
    std::string_view("torch.compile of the reference was not timed"),
};

bool cut_quotes(std::vector<std::string>& findings) {
  bool cut = false;
  for (std::string& finding : findings)
    for (std::string_view words : quoting)
      if (finding.size() > words.size() && finding.starts_with(words)) {
        finding.resize(words.size());
        cut = true;
      }
  return cut;
}

std::string_view coarse_error(const Verdict& verdict) {
  if (verdict.fault == Fault::task) return "the task does not work: its reference or its inputs fail";
  if (verdict.fault == Fault::infrastructure)
    return "the service could not judge the candidate, through no fault of it";
  return "the task is too large to be judged here";
}

// Whether the error is of the reference's process: a fault of the task or of the infrastructure, or a task
// that was given up before the candidate ran.
bool is_of_reference(const Verdict& verdict) {
  if (verdict.fault == Fault::task || verdict.fault == Fault::infrastructure) return true;
  return verdict.stage == Stage::prepare && verdict.fault != Fault::kernel;
}

}  // namespace

bool hide_reference(Verdict& verdict) {
  bool removed = verdict.comparison && cut_quotes(verdict.comparison->findings);
  if (!is_of_reference(verdict)) return removed;
  if (verdict.error && *verdict.error != coarse_error(verdict)) {
    verdict.error = coarse_error(verdict);
    removed = true;
  }
  removed = removed || verdict.error_detail || verdict.printed || !verdict.further.empty();
  verdict.error_detail.reset();
  verdict.printed.reset();
  verdict.further.clear();
  return removed;
}

}  // namespace kw::service
