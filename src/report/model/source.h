// Source: one input of a report, with its rows. model.h joins them.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "loop/tasks/source.h"
#include "report/model/index.h"
#include "report/model/model.h"
#include "report/model/recognise.h"
#include "report/model/redact.h"
#include "types/trace.h"

namespace kw::report {

// What one row adds to the counts of the contents.
struct RowCounts {
  std::uint32_t prompts = 0;
  std::uint32_t completions = 0;
  std::uint32_t reasoning = 0;
  std::uint32_t kernels = 0;
  std::uint32_t references = 0;
  std::uint32_t verdicts = 0;
  std::uint32_t dataset_rows = 0;
};

struct Table {
  Rows rows;
  Turns turns;  // `row` counts from 0 in this table
  std::vector<RowCounts> counts;
};

struct SourceParts {
  Found found;
  std::string name;
  std::string prefix;  // of the keys of this source
  const ModelOptions* options = nullptr;
};

class Source {
 public:
  explicit Source(SourceParts parts);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  // The row is a number in table(). An error ends the reading.
  using Sink = std::function<Result<>(std::size_t row, boost::json::object detail)>;

  // Reads everything. The sink may be empty.
  Result<> read(const Sink& sink);
  // Reads again if the files have changed. True if the rows or facts may have.
  bool refresh();
  virtual Result<boost::json::object> detail(std::size_t row) = 0;

  const SourceFacts& facts() const { return facts_; }
  const Table& table() const { return table_; }
  const std::map<std::string, std::uint64_t>& left_out() const { return left_out_; }  // licence → rows
  const PrivateCounts& private_counts() const { return redactor_.counts(); }
  // Of a score or a data set.
  virtual boost::json::object extra() const { return {}; }

  // Adds a message to the facts; those after the first few are only counted.
  void note(const std::string& message);

 protected:
  virtual Result<> read_all(const Sink& sink) = 0;
  virtual void read_changes();
  // Forgets all but the facts.
  void clear();
  // Size and time of the files on which the rows depend.
  virtual std::string stamp() const;
  static std::string file_stamp(const std::filesystem::path& file);

  const ModelOptions& options() const { return *parts_.options; }
  const std::string& path() const { return parts_.found.path; }

  // Names a part that could not be read.
  void damaged(const std::string& message);
  // A fact with a name that the source does not have yet.
  void fact(std::string_view name, const boost::json::value& value);
  void flat_facts(const std::string& prefix, const boost::json::object& object);
  void environment_facts(const Verdict& verdict);

  std::string unique_key(std::string_view name);
  // True if the row is to be left out; counts it.
  bool leave_out(const std::string& licence);
  // Appends a row with its key to the table.
  std::size_t add_row(const std::string& key);
  void clean(boost::json::object& detail) { redactor_.clean(detail); }
  void clean_settings(boost::json::object& settings);

  SourceParts parts_;
  SourceFacts facts_;
  Table table_;

 private:
  Redactor redactor_;
  std::map<std::string, std::uint64_t> left_out_;
  Occurrences keys_;
  std::size_t messages_ = 0;
  std::string read_at_;
};

// A trace's row is added to the table; its detail.
RowCounts counts_of(const Trace& trace);
boost::json::object trace_detail(const Trace& trace, std::string_view key, bool redact);

std::unique_ptr<Source> run_source(SourceParts parts);
std::unique_ptr<Source> trace_file_source(SourceParts parts);
std::unique_ptr<Source> verdict_source(SourceParts parts);
std::unique_ptr<Source> kernelbench_source(SourceParts parts);
std::unique_ptr<Source> score_source(SourceParts parts);
std::unique_ptr<Source> dataset_source(SourceParts parts);

// A path that could not be recognised: no rows, one message.
std::unique_ptr<Source> unreadable_source(SourceParts parts, const Error& error);

}  // namespace kw::report
