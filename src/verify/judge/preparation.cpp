#include "verify/judge/preparation.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace kw::verify {
namespace {

// Copies of a task's inputs and outputs that an attempt holds at once: arenas, the reference's values in two
// precisions, temporaries of both sides, the state of replays. The oracle alone has held 3.5 (measured on an
// H200).
constexpr double buffers_of_a_task = 10;
constexpr int most_preparations = 3;

bool is_out_of_memory(const Ended& ended) {
  const auto* blame = std::get_if<Blame>(&ended);
  return blame != nullptr && blame->fault == Fault::infrastructure && blame->error.contains("out of memory");
}

std::size_t shares_needed(const Context& context, const DeviceShare& device, std::uint64_t moved_bytes) {
  if (context.device_bytes == 0) return device.size();
  const double share_bytes = static_cast<double>(context.device_bytes) / static_cast<double>(device.size());
  const double shares = std::ceil(buffers_of_a_task * static_cast<double>(moved_bytes) / share_bytes);
  return static_cast<std::size_t>(std::clamp(shares, 1.0, static_cast<double>(device.size())));
}

// The shares that a preparation calls for; none: it can stay as it is.
std::optional<std::size_t> more_shares_for(const Outcome<>& prepared, const Context& context,
                                           const OracleSide& oracle, const DeviceShare& device) {
  if (!prepared) return is_out_of_memory(prepared.error()) ? std::optional(device.size()) : std::nullopt;
  // Outputs are as large as inputs in most large tasks.
  if (oracle.needed_bytes() > 0) return shares_needed(context, device, 2 * oracle.needed_bytes());
  if (oracle.moved_bytes() <= heavy_bytes) return std::nullopt;
  return shares_needed(context, device, oracle.moved_bytes());
}

}  // namespace

async::Task<Outcome<>> prepare_on_gpu(const Case& of, OracleSide& oracle, DeviceShare& device) {
  for (int round = 0;; ++round) {
    auto prepared = co_await oracle.prepare(round == 0 && !device.has_all() ? heavy_bytes : 0, 0);
    const std::optional<std::size_t> shares = more_shares_for(prepared, of.context, oracle, device);
    const bool had_all = round > 0 && !prepared && device.has_all();
    if (!shares || had_all || round == most_preparations - 1) co_return prepared;
    oracle.retire();
    const bool is_complete = prepared && oracle.needed_bytes() == 0;
    if (!is_complete) co_await oracle.end_process();
    const bool has_room = device.widen(*shares);
    if (!has_room) {
      if (is_complete) co_await oracle.end_process();
      co_await device.wait_for_several(*shares);
    }
    if (*shares > 1 || !prepared) co_await of.context.oracles.end_idle();
    if (has_room && is_complete) co_return prepared;
    if (auto renewed = co_await oracle.renew(); !renewed) co_return renewed;
  }
}

}  // namespace kw::verify
