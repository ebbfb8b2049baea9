#include "worker.h"

#include <fmt/format.h>

#include <chrono>

#include "replayable.h"

namespace kw::replayer {
namespace {

constexpr std::size_t max_slots = 16;

}  // namespace

Outcome<std::unique_ptr<Worker>> Worker::start(const driver::Driver& driver, int ordinal) {
  auto device = Device::open(driver, ordinal);
  if (!device) return std::unexpected(device.error());
  auto clock = Clock::make(**device);
  if (!clock) return std::unexpected(clock.error());
  if (auto found = clock->find_floor((*device)->stream()); !found) return std::unexpected(found.error());
  return std::unique_ptr<Worker>(new Worker(std::move(*device), std::move(*clock)));
}

Worker::~Worker() = default;

Outcome<wire::ReplayableT> Worker::load(const wire::LoadRecordingT& request, const std::vector<Fd>& fds) {
  auto begin = std::chrono::steady_clock::now();
  if (fds.size() < 2 || fds.size() > 3) return infrastructure("a recording and its arena were expected");
  slots_.erase(request.slot);
  if (slots_.size() >= max_slots) return infrastructure("no more recordings are kept at a time");
  if (slots_.empty()) device_->give_heap_back();
  // The arena last handed over is the one that lies there.
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
  return Player(*device_, clock_, flush_).play(*slot->second, *arena_, request);
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

}  // namespace kw::replayer
