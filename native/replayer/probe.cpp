#include "probe.h"

#include <array>
#include <boost/json.hpp>
#include <chrono>

#include "base/text.h"
#include "worker.h"

namespace kw::replayer {
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

// Context, both ranges of addresses, a gate that opens: what a replay of nothing needs.
Outcome<double> try_all(const driver::Driver& driver, int ordinal) {
  auto device = Device::open(driver, ordinal);
  if (!device) return std::unexpected(device.error());
  auto arena = Reserved::make(driver, {driver::arena_address, driver::arena_reserved_bytes});
  if (!arena) return std::unexpected(arena.error());
  auto clock = Clock::make(**device);
  if (!clock) return std::unexpected(clock.error());
  if (auto found = clock->find_floor((*device)->stream()); !found) return std::unexpected(found.error());
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
