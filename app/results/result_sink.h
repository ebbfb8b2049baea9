// Verdicts on their way out: --output (appended, resumed) and standard output (--json); and the verdicts that
// equal candidates share.
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

// What identifies a piece of work. Equal candidates of one task differ in the sample number only.
struct WorkKey {
  std::string task_id;
  std::size_t sample_number = 0;
  std::string candidate_sha256;
  std::string protocol;
  auto operator<=>(const WorkKey&) const = default;
};

WorkKey work_of(const Job& job, const std::string& protocol);
WorkKey work_of(const Verdict& verdict);

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

  // The verdict of this very work from an earlier run; none where that run failed for want of infrastructure.
  Result<std::optional<Verdict>> done(const WorkKey& work) const;

  // The verdict of an equal candidate on the same task under the same protocol, from this run or the file.
  // The caller gives it the job's own id, sample number and kernel name: see shared_verdict.
  Result<std::optional<Verdict>> equal(const WorkKey& work) const;

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
  std::map<WorkKey, Place> work_;
  std::map<WorkKey, Place> equal_;        // sample number 0
  std::map<WorkKey, Verdict> in_memory_;  // the same, where there is no file
};

// An equal candidate's verdict under this job's names.
Verdict shared_verdict(Verdict verdict, const Job& job);

}  // namespace kw
