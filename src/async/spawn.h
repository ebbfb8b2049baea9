// Starts a coroutine that nobody waits for.
#pragma once

#include <exception>
#include <functional>

#include "async/loop.h"

namespace kw::async {

// What the coroutine threw, or null.
using OnEnd = std::move_only_function<void(std::exception_ptr)>;

// `ended` runs on the loop after the coroutine, and keeps alive what it captures until then.
void spawn(Loop& loop, Task<> task, OnEnd ended);

// The same for a coroutine that must not throw: an exception leaves the loop's run().
void spawn(Loop& loop, Task<> task);

}  // namespace kw::async
