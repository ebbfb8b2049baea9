// Where and how candidates run: device, processes, deadline, sandbox.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace kw {

struct DeviceChoice {
  enum class Kind { automatic, cpu, cuda };
  Kind kind = Kind::automatic;
  std::optional<int> ordinal;  // of one GPU; none: every visible one
};

// "auto", "cpu", "cuda", "cuda:N".
Result<DeviceChoice> parse_device(const std::string& text);

struct EngineFlags {
  DeviceChoice device;
  std::uint64_t jobs = 0;  // at once; 0: as many as keep the machine busy
  double timeout_s = 180;  // of one candidate's own running
  std::string python;      // empty: VIRTUAL_ENV, then PATH
  bool allow_unsandboxed = false;
  std::uint64_t memory_bytes = 0;  // of one candidate; 0: chosen
  std::string recordings;          // folder for what was recorded; empty: nothing is kept

  void add(CLI::App& app);
};

}  // namespace kw
