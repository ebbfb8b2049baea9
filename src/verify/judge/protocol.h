// Settings on which a verdict depends, and the hash that names everything that can change a verdict.
#pragma once

#include <string>

#include "types/job.h"
#include "types/options.h"
#include "verify/messages/message.h"

namespace kw::verify {

using Tolerance = ToleranceOption;
using Settings = kw::Settings;
using Device = kw::Device;

// CPU path: limits of the interpreter's work (docs/cpu-path.md: a program costs about 0.6 ms).
inline constexpr std::uint64_t cpu_max_bytes = std::uint64_t{24} << 20;
inline constexpr double cpu_call_budget_ms = 6'000;
inline constexpr double cpu_program_ms = 0.6;

// 16 hex digits over everything that can change a verdict.
std::string protocol_hash(const Settings& settings, const wire::ReadyT& versions, const std::string& gpu);

// The hash of a task's content. Its name is left out, so that equal tasks under two names are one.
std::string task_content(const Task& task);

// The key for keeping an oracle's preparation and a reference's recording: the task and the settings that
// affect it.
std::string task_key(const Task& task, const Settings& settings, std::uint32_t halvings);

}  // namespace kw::verify
