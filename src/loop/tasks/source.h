// Sources of jobs, and operations on them: join, number, filter, cut, sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/core/result.h"
#include "base/rows/row_reader.h"
#include "types/job.h"

namespace kw {

// The purpose for which a source is read.
enum class Wanted {
  kernels,  // to judge them: a job has a candidate, and a row without a kernel is a bad row
  tasks     // to ask a model: jobs have only task and sample number, and kernels are skipped
};

// A bad row is a value, not an error of the source, so that the rows after it still run.
using JobOrError = std::variant<Job, RowError>;

class Source {
 public:
  virtual ~Source() = default;

  // The next job or bad row; nothing at the end. An Error means that the source itself is broken and ends.
  virtual Result<std::optional<JobOrError>> next() = 0;

  // The number of jobs, if it is known before the end.
  virtual std::optional<std::size_t> total() const { return {}; }
};

using SourcePtr = std::unique_ptr<Source>;

// Passes every remaining job and bad row to the callbacks. Returns an Error if the source fails.
Result<> read_all(Source& source, const std::function<void(Job)>& job,
                  const std::function<void(RowError)>& bad_row);

// A source of jobs and bad rows in memory.
SourcePtr job_list(std::vector<JobOrError> items);

// A source that opens at its first read, so that only one of many files is open at a time.
SourcePtr open_later(std::function<Result<SourcePtr>()> open);

// The sources one after another.
SourcePtr join(std::vector<SourcePtr> sources);

// Gives each job the first sample number, from its own upwards, that no earlier job of the task has.
SourcePtr number_occurrences(SourcePtr source);

// Keeps the jobs whose task the test accepts, and all bad rows.
SourcePtr filter_jobs(SourcePtr source, std::function<bool(const Task&)> test);

enum class BadRows { counted, not_counted };

// The first `count` jobs, and the bad rows among them.
SourcePtr first_jobs(SourcePtr source, std::size_t count, BadRows bad_rows);

// A random sample of `count` jobs in random order, or all of them in random order: the lowest by
// random_rank. Bad rows come first. Reads the whole source at once and keeps no more than `count` jobs.
Result<SourcePtr> sample_jobs(Source& source, std::size_t count, std::uint64_t seed);

// 16 hexadecimal digits of SHA-256 over seed, task and sample number. A rank depends on no other task, so a
// larger sample with the same seed contains the smaller one, on every platform.
std::string random_rank(std::uint64_t seed, std::string_view task_id, std::size_t sample_number);

// Distributes `total` over groups as evenly as their sizes allow; the first groups get the remainder.
std::map<int, std::size_t> even_shares(const std::map<int, std::size_t>& sizes, std::size_t total);

// Counts the occurrences of names.
class Occurrences {
 public:
  // The number of earlier calls with this name.
  std::size_t next(const std::string& name) { return counts_[name]++; }

 private:
  std::map<std::string, std::size_t> counts_;
};

}  // namespace kw
