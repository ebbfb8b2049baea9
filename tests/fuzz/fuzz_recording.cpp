// Any bytes as a recording. Hashes are not checked, because no input would pass them; accepted recordings are
// planned, reordered and shown, as by a replayer and a person.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "verify/recording/plan.h"
#include "verify/recording/recording.h"

namespace {

using kw::recording::Plan;
using kw::recording::Recording;

void must(bool holds) {
  if (!holds) std::abort();
}

// Every step comes once, and after its predecessors.
void check_order(const Plan& plan, const std::vector<std::size_t>& order) {
  must(order.size() == plan.steps.size());
  std::vector<std::size_t> place(order.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::size_t unjoined = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    must(place[i] < order.size());
    for (std::size_t earlier : plan.steps[i].after) must(earlier < i && place[earlier] < place[i]);
    unjoined += plan.steps[i].joined ? 0 : 1;
  }
  must(unjoined == plan.unjoined);
}

void use(const Recording& recording) {
  Plan plan = kw::recording::plan(recording);
  check_order(plan, kw::recording::late(plan, 0));
  for (std::size_t stream : kw::recording::late_streams(plan))
    check_order(plan, kw::recording::late(plan, stream));
  must(!kw::recording::shown(recording).empty());
  kw::recording::why_not_replayable(recording);
  if (recording.cubins() == nullptr) return;
  for (const auto* cubin : *recording.cubins())
    kw::recording::variables({cubin->image()->data(), cubin->image()->size()});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  kw::recording::variables({data, size});
  auto view = kw::recording::View::of(bytes, {.hashes = false});
  if (view) use(**view);
  return 0;
}
