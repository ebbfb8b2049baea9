// Time stamps of traces in one form. Recorded traces may contain any text there.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace kw::exports {

using Moment = std::chrono::sys_time<std::chrono::microseconds>;

// A date and time of ISO 8601, in UTC where it has no offset; empty for other text and for dates that do not
// exist.
std::optional<Moment> moment_of(std::string_view text);

// "2026-01-02T03:04:05.000006Z"
std::string to_text(Moment moment);

}  // namespace kw::exports
