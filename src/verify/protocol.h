#pragma once

#include <string>

#include "schema/task.h"
#include "verify/settings.h"
#include "wire/message.h"

namespace kw::verify {

// 16 hex digits over everything that can change a verdict (contracts, "Names").
std::string protocol_hash(const Settings& settings, const wire::ReadyT& versions, const std::string& gpu);

// What a task is, by its text: equal tasks under two names are one, and a name that somebody chose is
// nothing.
std::string task_content(const Task& task);

// What an oracle's preparation and a reference's recording may be kept under: the task and the settings that
// shape it.
std::string task_key(const Task& task, const Settings& settings, std::uint32_t halvings);

}  // namespace kw::verify
