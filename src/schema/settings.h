// Settings: what a verdict depends on, as the user set it; and JobOptions, what one job asks for instead.
// Their members are the options of options.def.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "schema/enums.h"

namespace kw {

struct ToleranceOption {
  std::string name = "kernelbench";  // "kernelbench", "seed", "strict", "custom"
  double rtol = -1;                  // negative: the named rule's
  double atol = -1;
  bool operator==(const ToleranceOption&) const = default;
};

// Of --device: which GPUs are to be used.
struct DeviceChoice {
  enum class Kind { automatic, cpu, cuda };
  Kind kind = Kind::automatic;
  std::optional<int> ordinal;  // of one GPU; none: every visible one
  bool operator==(const DeviceChoice&) const = default;
};

enum class Device { cpu, cuda };

struct Settings {
  Device device = Device::cpu;  // what `devices` came to on this machine
  std::uint32_t timing_warmup = 10;

#define KW_OPTION(name, type, initial, ...) type name = initial;
#include "schema/options.def"

  bool operator==(const Settings&) const = default;
};

struct JobOptions {
#define KW_OPTION(...)
#define KW_JOB_OPTION(name, type, ...) std::optional<type> name{};
#include "schema/options.def"

  bool operator==(const JobOptions&) const = default;
};

// The settings of one job. Nothing that its options leave open changes.
Settings with_options(Settings settings, const JobOptions& options);

// Every setting that travels with a job.
JobOptions job_options(const Settings& settings);

// What one job asks for where it does not say otherwise itself.
JobOptions overlaid(JobOptions settings, const JobOptions& own);

}  // namespace kw
