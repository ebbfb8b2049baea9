// What may be done to a source of tasks on its way: joined, numbered, filtered, cut, sampled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tasks/task_source.h"

namespace kw {

using TaskSourcePtr = std::unique_ptr<TaskSource>;

// Tasks and bad rows that are there already.
TaskSourcePtr task_list(std::vector<TaskOrError> items);

// Opened when its turn comes, so that of many files one at a time is open.
TaskSourcePtr open_later(std::function<Result<TaskSourcePtr>()> open);

// One after another.
TaskSourcePtr join(std::vector<TaskSourcePtr> sources);

// Gives every task the first sample number from its own on that no equal task had before.
TaskSourcePtr number_occurrences(TaskSourcePtr source);

// Only the tasks that the test accepts; bad rows pass.
TaskSourcePtr filter_tasks(TaskSourcePtr source, std::function<bool(const Task&)> test);

// The first `count` tasks; bad rows among them pass and do not count.
TaskSourcePtr first_tasks(TaskSourcePtr source, std::size_t count);

// A random sample of `count` tasks in random order, or all of them in random order: the lowest by
// random_rank. Bad rows come first. Reads the whole source at once and keeps no more than `count` tasks.
Result<TaskSourcePtr> sample_tasks(TaskSource& source, std::size_t count, std::uint64_t seed);

// 16 hexadecimal digits of SHA-256 over seed, task and sample number. So a task's place does not depend on
// which others there are: a larger sample of one seed holds the smaller one, on every platform.
std::string random_rank(std::uint64_t seed, std::string_view task_id, std::size_t sample_number);

// How many to take of each of several groups, `total` in all, as evenly as the groups' sizes allow; what is
// left over goes to the first groups.
std::map<int, std::size_t> even_shares(const std::map<int, std::size_t>& sizes, std::size_t total);

}  // namespace kw
