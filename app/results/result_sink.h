// Verdicts on their way out: --output (appended, resumed) and standard output (--json).
#pragma once

#include <boost/json/object.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "schema/job.h"
#include "schema/verdict.h"

namespace kw {

// A row of the output: who asked, and for what. `work` is the key of Verdict::work.
struct RowKey {
  std::string task_id;
  std::size_t sample_number = 0;
  std::string work;
  auto operator<=>(const RowKey&) const = default;
};

RowKey row_of(const Job& job, const std::string& work);

struct SinkOptions {
  std::string output;      // empty: no file
  bool fresh = false;      // start the file anew
  bool to_stdout = false;  // --json
};

class ResultSink {
 public:
  // Reads what is in the file: a torn last line is cut off, a file that is not ours is an error and stays as
  // it is.
  static Result<ResultSink> open(const SinkOptions& options);

  // The verdict of this very row from an earlier run; none where that run failed for want of infrastructure,
  // or was made by a version that wrote no key.
  Result<std::optional<Verdict>> done(const RowKey& row) const;

  // The verdict on equal work that the file holds, under the names of the job that it was made for.
  Result<std::optional<Verdict>> equal(const std::string& work) const;

  Result<> write(const Verdict& verdict, const boost::json::object& carried);

  // To standard output only: work that is done already.
  void show(const Verdict& verdict, const boost::json::object& carried) const;

  // Verdicts that the file held when it was opened.
  std::size_t found() const { return found_; }

 private:
  struct Place {
    std::uint64_t offset = 0;
    std::size_t size = 0;
  };

  Result<> read_file();
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
