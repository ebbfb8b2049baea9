#include "replayable.h"

#include "channel.h"

namespace kw::replayer {
namespace {

wire::LaunchT described(const ReadyLaunch& launch) {
  constexpr int register_bytes = 4;
  const recording::Launch& recorded = *launch.recorded;
  const Function& function = *launch.function;
  wire::LaunchT result;
  result.name = plain_name(recorded.name()->string_view());
  result.grid = {recorded.grid()->x(), recorded.grid()->y(), recorded.grid()->z()};
  result.block = {recorded.block()->x(), recorded.block()->y(), recorded.block()->z()};
  result.programs = result.grid[0] * result.grid[1] * result.grid[2];
  result.num_warps =
      static_cast<std::uint32_t>((result.block[0] * result.block[1] * result.block[2] + 31) / 32);
  result.cubin_sha256 = launch.cubin_sha256;
  result.registers = function.registers;
  result.spills = function.local_bytes < 0 ? -1 : function.local_bytes / register_bytes;
  result.shared_bytes =
      function.shared_bytes < 0 ? -1 : std::int64_t{function.shared_bytes} + recorded.shared_bytes();
  return result;
}

}  // namespace

wire::ReplayableT replayable(const Slot& slot) {
  wire::ReplayableT reply;
  for (const ReadyLaunch& each : slot.program().launches())
    reply.launches.push_back(std::make_unique<wire::LaunchT>(described(each)));
  reply.operations = static_cast<std::uint32_t>(slot.plan().steps.size());
  const auto* streams = slot.recording().streams();
  reply.streams = streams == nullptr ? 0 : streams->size();
  reply.downloads = static_cast<std::uint32_t>(slot.downloads());
  reply.unjoined = static_cast<std::uint32_t>(slot.plan().unjoined);
  reply.orders = slot.plan().open || slot.plan().unjoined > 0 ? 2 : 1;
  reply.state_bytes = slot.recording().state_bytes();
  if (slot.recording().scratch() != nullptr)
    for (const recording::Span* each : *slot.recording().scratch()) reply.scratch_bytes += each->bytes();
  return reply;
}

std::string fitting(wire::ReplayableT reply) {
  for (std::size_t most = reply.launches.size();; most /= 2) {
    reply.launches.resize(std::min(most, reply.launches.size()));
    std::string packet = wire::encode(wire::ReplayableT(reply));
    if (packet.size() <= max_packet_bytes || most == 0) return packet;
  }
}

}  // namespace kw::replayer
