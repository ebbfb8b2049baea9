// What a verdict depends on, as the user set it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "schema/job_options.h"

namespace kw::verify {

using Tolerance = ToleranceOption;

enum class Device { cpu, cuda };

struct Settings {
  Device device = Device::cpu;
  std::uint32_t correctness_trials = 5;
  std::uint32_t timing_trials = 100;
  std::uint32_t timing_warmup = 10;
  double timing_precision = 0.01;  // half of a time's 95% interval, as a share of it, at which sampling ends
  Tolerance tolerance;
  std::string precision = "fp32";
  bool tf32 = false;
  bool move_weights = true;       // false: the constructors' own values, as earlier evaluators had
  bool reduce_shapes = true;      // CPU only
  bool replay = true;             // CUDA: false judges and times in-process
  std::string recordings;         // folder in which recordings are kept; empty: nowhere
  bool compile_baseline = false;  // times torch.compile of the reference too
  double audit = 0.25;            // share of replayed candidates that are judged again without the recorder
  std::chrono::milliseconds timeout{180'000};  // of one candidate's own running
};

// Those of one job. Nothing that its options leave open changes.
Settings with_options(Settings settings, const JobOptions& options);

// CPU path: what the interpreter is asked to do at most (cpu_path.md: a program costs 0.4 to 0.7 ms).
inline constexpr std::uint64_t cpu_max_bytes = std::uint64_t{24} << 20;
inline constexpr double cpu_call_budget_ms = 6'000;
inline constexpr double cpu_program_ms = 0.6;

}  // namespace kw::verify
