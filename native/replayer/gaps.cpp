#include "gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace kw::replayer {
namespace {

struct Allocated {
  Extent at;
  const char* what = "";
};

template <typename Blocks>
void add(std::vector<Allocated>& all, const Blocks* blocks, const char* what) {
  if (blocks == nullptr) return;
  for (const auto* each : *blocks)
    if (each->bytes() > 0) all.push_back({{each->address(), each->bytes()}, what});
}

std::vector<Allocated> allocated(const recording::Recording& recording) {
  std::vector<Allocated> all;
  add(all, recording.scratch(), "memory that the call allocated");
  add(all, recording.state(), "memory that was allocated before the call");
  add(all, recording.reserved(), "memory of a CUDA graph");
  return all;
}

std::uint64_t distance(CUdeviceptr address, const Extent& from) {
  if (address < from.address) return from.address - address;
  return address < from.end() ? 0 : address - from.end();
}

std::string name_of(const Allocated& block, std::span<const wire::OutputSpan> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].bytes() > 0 && outputs[i].address() >= block.at.address &&
        outputs[i].address() < block.at.end())
      return fmt::format("output {}", i);
  return block.what;
}

}  // namespace

std::vector<Extent> gaps_of(const recording::Recording& recording, std::span<const Extent> committed) {
  std::vector<Extent> blocks;
  for (const Allocated& each : allocated(recording)) blocks.push_back(each.at);
  return without(merged({committed.begin(), committed.end()}), merged(std::move(blocks)));
}

std::string place_of(CUdeviceptr address, const recording::Recording& recording,
                     std::span<const wire::OutputSpan> outputs) {
  std::vector<Allocated> all = allocated(recording);
  if (all.empty()) return fmt::format("at {:#x}, where nothing is allocated", address);
  const Allocated& nearest =
      *std::ranges::min_element(all, {}, [&](const Allocated& each) { return distance(address, each.at); });
  return fmt::format("{} bytes {} {} ({} bytes at {:#x})", distance(address, nearest.at),
                     address < nearest.at.address ? "before" : "behind", name_of(nearest, outputs),
                     nearest.at.bytes, nearest.at.address);
}

std::uint64_t gap_word(std::uint64_t address, std::uint64_t key) {
  std::uint64_t word = (address ^ key) * 0x9E3779B97F4A7C15;
  word = (word ^ (word >> 32)) * 0xD6E8FEB86659FD93;
  return word ^ (word >> 32);
}

Outcome<GapKernel> GapKernel::load(const Device& device) {
  const driver::Driver& driver = device.driver();
  GapKernel kernel;
  CUmodule module = nullptr;
  auto done = in_turn(
      [&] {
        return device.checked(driver.cuModuleLoadData(&module, gap_kernel), "compiling a kernel of ours");
      },
      [&] {
        kernel.unload_ = Release([&driver, module] { driver.cuModuleUnload(module); });
        return device.checked(driver.cuModuleGetFunction(&kernel.function_, module, name), "finding it");
      },
      // A lazy load behind a closed gate would wait for ever.
      [&] { return device.checked(driver.cuFuncLoad(kernel.function_), "loading it"); },
      [&] { return device.checked(driver.cuMemAlloc(&kernel.found_, sizeof(CUdeviceptr)), "allocating"); });
  if (!done) return infrastructure(done.error().error);
  kernel.free_ = Release([&driver, found = kernel.found_] { driver.cuMemFree(found); });
  return kernel;
}

// One launch for each batch of zones: large zones are split, so that all blocks have about the same work.
Outcome<> GapKernel::run(const Device& device, std::span<const Extent> zones, std::uint64_t key,
                         CUdeviceptr found) const {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;
  constexpr unsigned threads = 256;
  constexpr unsigned blocks_a_zone = 32;
  struct Zone {
    CUdeviceptr from = 0;
    CUdeviceptr to = 0;
  };
  std::array<Zone, zones_a_launch> batch{};
  unsigned count = 0;
  Outcome<> done;
  auto launch = [&] {
    if (count == 0 || !done) return;
    CUlaunchConfig config{};
    config.gridDimX = blocks_a_zone;
    config.gridDimY = std::exchange(count, 0);
    config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = threads;
    config.hStream = device.stream();
    void* parameters[] = {batch.data(), &key, &found};
    done = device.checked(device.driver().cuLaunchKernelEx(&config, function_, parameters, nullptr),
                          "filling or comparing unallocated memory");
  };
  for (const Extent& zone : zones)
    for (CUdeviceptr from = zone.address; from < zone.end() && done;) {
      const CUdeviceptr to = std::min(zone.end(), (from / most_bytes + 1) * most_bytes);
      batch[count++] = {from, to};
      from = to;
      if (count == batch.size()) launch();
    }
  launch();
  return done;
}

Outcome<> GapKernel::fill(const Device& device, std::span<const Extent> zones, std::uint64_t key) const {
  return run(device, zones, key, 0);
}

Outcome<std::optional<CUdeviceptr>> GapKernel::changed(const Device& device, std::span<const Extent> zones,
                                                       std::uint64_t key) const {
  constexpr CUdeviceptr none = std::numeric_limits<CUdeviceptr>::max();
  const driver::Driver& driver = device.driver();
  CUdeviceptr least = none;
  auto done = in_turn(
      [&] {
        return device.checked(driver.cuMemsetD32Async(found_, ~0U, sizeof none / 4, device.stream()),
                              "comparing");
      },
      [&] { return run(device, zones, key, found_); },
      [&] { return device.checked(driver.cuStreamSynchronize(device.stream()), "comparing"); },
      [&] { return device.checked(driver.cuMemcpyDtoH(&least, found_, sizeof least), "comparing"); });
  if (!done) return std::unexpected(done.error());
  return least == none ? std::nullopt : std::optional(least);
}

}  // namespace kw::replayer
