#include "replayer_world.h"

#include <algorithm>
#include <cstring>

namespace kw::replayer {
namespace {

constexpr std::size_t arena_bytes = 65536;

CUresult change(fake::Run& run, const std::function<std::uint32_t(std::uint32_t, std::uint32_t)>& how) {
  std::uint32_t word = 0;
  if (!run.memory.read(run.parameters[0], &word, sizeof word)) return CUDA_ERROR_ILLEGAL_ADDRESS;
  word = how(word, static_cast<std::uint32_t>(run.parameters[1]));
  run.memory.write(run.parameters[0], &word, sizeof word);
  return CUDA_SUCCESS;
}

fake::Kernel kernel(std::function<std::uint32_t(std::uint32_t, std::uint32_t)> how) {
  fake::Kernel result;
  result.sizes = {8, 4};
  result.body = [how = std::move(how)](fake::Run& run) { return change(run, how); };
  return result;
}

// kw_gaps, as gap_kernel.cpp has it for a device.
CUresult fill_or_compare(fake::Run& run) {
  const std::uint64_t key = run.parameters[1];
  const std::uint64_t found = run.parameters[2];
  for (std::size_t at = 0; at < run.bytes[0].size(); at += 16) {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::memcpy(&from, run.bytes[0].data() + at, sizeof from);
    std::memcpy(&to, run.bytes[0].data() + at + 8, sizeof to);
    std::string wanted;
    for (std::uint64_t each = from; each < to; ++each)
      wanted += static_cast<char>(gap_word(each / 8 * 8, key) >> (each % 8 * 8));
    std::string there(wanted.size(), '\0');
    if (found == 0 ? !run.memory.write(from, wanted.data(), wanted.size())
                   : !run.memory.read(from, there.data(), there.size()))
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (found == 0 || there == wanted) continue;
    std::uint64_t least = 0;
    run.memory.read(found, &least, sizeof least);
    const auto differs = std::ranges::mismatch(there, wanted).in1 - there.begin();
    least = std::min(least, from + static_cast<std::uint64_t>(differs));
    run.memory.write(found, &least, sizeof least);
  }
  return CUDA_SUCCESS;
}

}  // namespace

ReplayWorld::ReplayWorld()
    : arena_memory(std::make_shared<std::string>(arena_bytes, '\0')),
      state_memory(std::make_shared<std::string>(arena_bytes, '\0')) {
  driver.kernels["set"] = kernel([](std::uint32_t, std::uint32_t by) { return by; });
  driver.kernels["add"] = kernel([](std::uint32_t word, std::uint32_t by) { return word + by; });
  driver.kernels[GapKernel::name] = {
      .sizes = {GapKernel::zones_a_launch * 16, 8, 8}, .body = fill_or_compare, .ms = 0};
  driver.kernels["times"] = kernel([](std::uint32_t word, std::uint32_t by) { return word * by; });
  world.set_image(recording::image_of({.kernels = {"set", "add", "times"}, .globals = {{"counter", 4}}}));
  request.arena_address = arena;
  request.arena_bytes = arena_bytes;
  request.outputs_offset = outputs_offset;
}

void ReplayWorld::launch(const std::string& name, std::uint64_t address, std::uint32_t value,
                         std::uint32_t stream) {
  recording::LaunchT& made = world.launch(stream);
  made.name = name;
  std::memcpy(made.parameters.data(), &address, sizeof address);
  std::memcpy(made.parameters.data() + sizeof address, &value, sizeof value);
}

void ReplayWorld::add_state(std::uint64_t address, std::uint32_t value) {
  std::uint64_t at = world.recording.state_bytes;
  std::memcpy(state_memory->data() + at, &value, sizeof value);
  world.add_state(address, sizeof value, at);
  world.recording.state_bytes = at + sizeof value;
}

void ReplayWorld::add_output(std::uint64_t address, std::uint64_t bytes) {
  std::uint64_t to = outputs_offset;
  for (const wire::OutputSpan& each : request.outputs) to += each.bytes();
  request.outputs.emplace_back(address, bytes, to);
}

void ReplayWorld::poison(std::uint32_t word) {
  for (std::size_t at = outputs_offset; at < arena_bytes; at += sizeof word)
    std::memcpy(arena_memory->data() + at, &word, sizeof word);
}

Worker& ReplayWorld::worker() {
  if (worker_ == nullptr) worker_ = Worker::start(driver.table(), 0).value();
  return *worker_;
}

wire::BodyUnion ReplayWorld::ask(const std::string& packet, const std::vector<Fd>& fds) {
  auto body = wire::decode(packet).value();
  return wire::decode(worker().answer(body, fds)).value();
}

wire::BodyUnion ReplayWorld::load() {
  std::vector<Fd> fds;
  fds.push_back(memory_file("recording", world.bytes()).value());
  fds.push_back(driver.exported(arena_memory));
  if (world.recording.state_bytes > 0) fds.push_back(driver.exported(state_memory));
  return ask(wire::encode(request), fds);
}

wire::BodyUnion ReplayWorld::replay(wire::ReplayT wanted) {
  return ask(wire::encode(std::move(wanted)), {});
}

wire::ReplayableT ReplayWorld::loaded() {
  auto reply = load();
  if (const auto* failed = reply.AsFailed()) throw std::runtime_error(failed->error);
  return *reply.AsReplayable();
}

wire::ReplayedT ReplayWorld::replayed(wire::ReplayT wanted) {
  auto reply = replay(std::move(wanted));
  if (const auto* failed = reply.AsFailed()) throw std::runtime_error(failed->error);
  return *reply.AsReplayed();
}

std::string ReplayWorld::refusal() {
  auto reply = load();
  const auto* failed = reply.AsFailed();
  return failed == nullptr ? "" : failed->error_class + ": " + failed->error;
}

wire::FailedT ReplayWorld::failure(wire::ReplayT wanted) {
  auto reply = replay(std::move(wanted));
  const auto* failed = reply.AsFailed();
  return failed == nullptr ? wire::FailedT() : *failed;
}

std::uint32_t ReplayWorld::output(std::size_t index) const {
  std::uint32_t word = 0;
  std::memcpy(&word, arena_memory->data() + request.outputs.at(index).to(), sizeof word);
  return word;
}

wire::ReplayT in_order(wire::Order order) {
  wire::ReplayT request;
  request.order = order;
  return request;
}

wire::ReplayT timed(std::uint32_t repeats) {
  wire::ReplayT request;
  request.timed = true;
  request.repeats = repeats;
  return request;
}

}  // namespace kw::replayer
