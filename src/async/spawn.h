// Starts a coroutine that nobody waits for.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <exception>
#include <functional>
#include <string>

#include "async/loop.h"

namespace kw::async {

// What the coroutine threw, or null.
using OnEnd = std::move_only_function<void(std::exception_ptr)>;

// `ended` runs on the loop after the coroutine, and keeps alive what it captures until then.
void spawn(Loop& loop, Task<> task, OnEnd ended);

// The same, cancelled through the slot.
void spawn(Loop& loop, Task<> task, boost::asio::cancellation_slot cancel, OnEnd ended);

// The same for a coroutine that must not throw: an exception leaves the loop's run().
void spawn(Loop& loop, Task<> task);

// What an exception says.
std::string what_of(const std::exception_ptr& thrown);

}  // namespace kw::async
