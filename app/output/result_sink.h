// Writes verdicts to --output (appended, resumable) and to standard output (--json).
#pragma once

#include <boost/json/object.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/core/files.h"
#include "base/core/result.h"
#include "types/job.h"
#include "types/verdict.h"

namespace kw {

// Identity of an output row. `work` is the key of Verdict::work.
struct RowKey {
  std::string task_id;
  std::size_t sample_number = 0;
  std::string work;
  auto operator<=>(const RowKey&) const = default;
};

RowKey row_of(const Job& job, const std::string& work);

struct SinkOptions {
  std::string output;      // empty: no file
  bool fresh = false;      // start a new file; rename the existing one
  bool to_stdout = false;  // --json
};

class ResultSink {
 public:
  // Reads the existing file. Removes an incomplete last line. A file of another program is an error and
  // stays unchanged.
  static Result<ResultSink> open(const SinkOptions& options);

  // The verdict on this row from an earlier run; empty if it has the fault infrastructure, or comes from a
  // version that wrote no key.
  Result<std::optional<Verdict>> done(const RowKey& row) const;

  // The stored verdict on equal work, with the names of the job that it was made for.
  Result<std::optional<Verdict>> equal(const std::string& work) const;

  // An error leaves the file without a part of this verdict.
  Result<> write(const Verdict& verdict, const boost::json::object& carried);

  // Prints a verdict that the file already contains to standard output only.
  Result<> show(const Verdict& verdict, const boost::json::object& carried) const;

  // Number of verdicts in the file when it was opened.
  std::size_t found() const { return found_; }

 private:
  struct Place {
    std::uint64_t offset = 0;
    std::size_t size = 0;
  };

  static Result<ResultSink> open_file(const SinkOptions& options);
  Result<> read_file();
  Result<> append(const std::string& line);
  Result<> end_last_line(std::uint64_t line_begin, std::uint64_t size, bool whole);
  void remember(const Verdict& verdict, Place place);
  Result<std::optional<Verdict>> load(const Place& place) const;

  SinkOptions options_;
  Fd fd_;
  std::uint64_t end_ = 0;
  std::size_t found_ = 0;
  std::map<RowKey, Place> rows_;
  std::map<std::string, Place> by_work_;  // the first row of each
};

}  // namespace kw
