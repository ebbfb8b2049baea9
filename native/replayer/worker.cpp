#include "worker.h"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <chrono>

#include "base/core/text.h"
#include "server.h"
#include "verify/messages/launch_list.h"

namespace kw::replayer {
namespace {

constexpr std::size_t max_slots = 16;

}  // namespace

Outcome<std::unique_ptr<Worker>> Worker::start(const driver::Driver& driver, int ordinal, Timing timing) {
  auto device = Device::open(driver, ordinal);
  if (!device) return std::unexpected(device.error());
  auto clock = Clock::make(**device);
  if (!clock) return std::unexpected(clock.error());
  if (timing == Timing::measured)
    if (auto found = clock->find_floor((*device)->stream()); !found) return std::unexpected(found.error());
  auto gaps = GapKernel::load(**device);
  if (!gaps) return std::unexpected(gaps.error());
  return std::unique_ptr<Worker>(new Worker(std::move(*device), std::move(*clock), std::move(*gaps)));
}

Worker::~Worker() = default;

Outcome<wire::ReplayableT> Worker::load(const wire::LoadRecordingT& request, const std::vector<Fd>& fds) {
  auto begin = std::chrono::steady_clock::now();
  if (fds.size() < 2 || fds.size() > 3) return infrastructure("a recording and its arena were expected");
  slots_.erase(request.slot);
  if (slots_.size() >= max_slots) return infrastructure("no more recordings are kept at a time");
  if (slots_.empty()) device_->give_heap_back();
  // Only one arena can be mapped at the fixed address: the last one.
  arena_.reset();
  auto arena = Arena::make(*device_, request, fds[1]);
  if (!arena) return std::unexpected(arena.error());
  arena_ = std::move(*arena);
  const Fd none;
  auto slot = Slot::load(*device_, request, fds[0], fds.size() == 3 ? fds[2] : none);
  if (!slot) return std::unexpected(slot.error());
  wire::ReplayableT reply = replayable(**slot);
  reply.compute_capability = device_->compute_capability();
  slots_[request.slot] = std::move(*slot);
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  reply.load_ms = took.count();
  return reply;
}

Outcome<wire::ReplayedT> Worker::replay(const wire::ReplayT& request) {
  auto slot = slots_.find(request.slot);
  if (slot == slots_.end()) return infrastructure(fmt::format("slot {} holds no recording", request.slot));
  if (!arena_ || arena_->bytes != slot->second->arena_bytes())
    return infrastructure(fmt::format("the arena of slot {} was taken away", request.slot));
  return Player(*device_, clock_, flush_, gaps_).play(*slot->second, *arena_, request);
}

void Worker::check_context() {
  spent_ = device_->driver().cuCtxSynchronize() != CUDA_SUCCESS;
}

std::string Worker::answer(const wire::BodyUnion& request, const std::vector<Fd>& fds) {
  Fault fault{"infrastructure", "a replayer does not know this request"};
  if (const auto* wanted = request.AsLoadRecording()) {
    auto reply = load(*wanted, fds);
    if (reply) return fitting(std::move(*reply));
    fault = reply.error();
  } else if (const auto* again = request.AsReplay()) {
    auto reply = replay(*again);
    if (reply) return wire::encode(std::move(*reply));
    fault = reply.error();
  }
  check_context();
  return wire::encode(failed(fault));
}

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
  result.code = function.code;
  result.registers = function.registers;
  result.spills = function.local_bytes < 0 ? -1 : function.local_bytes / register_bytes;
  result.shared_bytes =
      function.shared_bytes < 0 ? -1 : std::int64_t{function.shared_bytes} + recorded.shared_bytes();
  result.operation = static_cast<std::int64_t>(launch.operation);
  return result;
}

}  // namespace

wire::ReplayableT replayable(const Slot& slot) {
  wire::ReplayableT reply;
  for (const ReadyLaunch& each : slot.program().launches()) {
    auto& launch = reply.launches.emplace_back(std::make_unique<wire::LaunchT>(described(each)));
    const auto* operation = recording::entry(slot.recording().operations(), each.operation);
    launch->stream = static_cast<std::int32_t>(operation->stream());
  }
  reply.launch_count = static_cast<std::uint32_t>(reply.launches.size());
  reply.operations = static_cast<std::uint32_t>(slot.plan().steps.size());
  const auto* streams = slot.recording().streams();
  reply.streams = streams == nullptr ? 0 : streams->size();
  reply.downloads = static_cast<std::uint32_t>(slot.downloads());
  reply.unjoined = static_cast<std::uint32_t>(slot.plan().unjoined);
  for (std::size_t stream : recording::late_streams(slot.plan())) {
    auto& order = reply.late.emplace_back(std::make_unique<wire::LateOrderT>());
    order->stream = static_cast<std::uint32_t>(stream);
    order->swaps = recording::exchanges(slot.plan(), stream);
  }
  reply.not_split = slot.plan().split.why_not;
  reply.state_bytes = slot.recording().state_bytes();
  if (slot.recording().scratch() != nullptr)
    for (const recording::Span* each : *slot.recording().scratch()) reply.scratch_bytes += each->bytes();
  return reply;
}

std::string fitting(wire::ReplayableT reply) {
  wire::shorten(reply.launches);
  for (std::size_t most = reply.launches.size();; most /= 2) {
    reply.launches.resize(std::min(most, reply.launches.size()));
    std::string packet = wire::encode(wire::ReplayableT(reply));
    if (packet.size() <= max_packet_bytes || most == 0) return packet;
  }
}

namespace {

// Facts that need no context.
boost::json::object facts(const driver::Driver& driver, int ordinal) {
  boost::json::object found{{"device", ordinal}};
  int version = 0;
  if (driver.cuDriverGetVersion(&version) == CUDA_SUCCESS) found["driver_version"] = version;
  CUdevice device = 0;
  if (driver.cuInit(0) != CUDA_SUCCESS || driver.cuDeviceGet(&device, ordinal) != CUDA_SUCCESS) return found;
  std::array<char, 256> name{};
  if (driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device) == CUDA_SUCCESS)
    found["gpu"] = to_plain_text(name.data());
  int major = 0;
  int minor = 0;
  driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  found["compute_capability"] = major * 10 + minor;
  return found;
}

// Creates everything that an empty replay needs: a context, both ranges of addresses, and a gate that opens.
Outcome<double> try_all(const driver::Driver& driver, int ordinal) {
  auto device = Device::open(driver, ordinal);
  if (!device) return std::unexpected(device.error());
  auto arena = Reserved::make(driver, {driver::arena_address, driver::arena_reserved_bytes});
  if (!arena) return std::unexpected(arena.error());
  auto clock = Clock::make(**device);
  if (!clock) return std::unexpected(clock.error());
  if (auto found = clock->find_floor((*device)->stream()); !found) return std::unexpected(found.error());
  if (auto gaps = GapKernel::load(**device); !gaps) return std::unexpected(gaps.error());
  return clock->floor_ms();
}

}  // namespace

Probe probe(const driver::Driver& driver, int ordinal) {
  auto begin = std::chrono::steady_clock::now();
  boost::json::object found = facts(driver, ordinal);
  auto floor_ms = try_all(driver, ordinal);
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  found["replay"] = floor_ms.has_value();
  found["ready_ms"] = took.count();
  if (floor_ms)
    found["floor_ms"] = *floor_ms;
  else
    found["why"] = floor_ms.error().error;
  return {boost::json::serialize(found), floor_ms ? std::string() : floor_ms.error().error};
}

}  // namespace kw::replayer
