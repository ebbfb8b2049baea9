// Model: reads the sources of a report (runs, traces, verdicts, scores, data sets) into an Index and yields
// the detail of each row, one at a time. A run that grows is read again with `refresh`.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/rows/row_reader.h"
#include "report/model/index.h"
#include "types/enums.h"

namespace kw::report {

// The code of a verdict's candidate and of its reference; empty where unknown.
struct JudgedCode {
  std::string reference;
  std::string candidate;
};

struct ModelOptions {
  bool redact = false;              // leave out prompts, paths, hosts and keys
  bool include_restricted = false;  // also rows under licences that are not permissive
  Trust least = Trust::in_process;  // of a speed-up
  ParquetHelper parquet = {};
  // The sources of a verdict of `verify`, by the candidate's SHA-256.
  std::function<JudgedCode(const std::string& candidate_sha256)> code_of = {};
  std::string program_version = {};
  std::string made_at = {};  // empty: now
};

// The place of a detail in an inflated chunk.
struct DetailPlace {
  std::size_t chunk = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

class Model {
 public:
  // Recognises each path: a run folder or its run.db, traces, verdicts, a score, a data set's folder or rows,
  // or a folder that contains any of these. Reads nothing else yet. An unreadable path is a source with the
  // state `damaged` and a message.
  Model(const std::vector<std::string>& paths, ModelOptions options);
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  // Called for each row, in the order of the rows. An error ends the reading.
  using Sink = std::function<Result<>(std::size_t row, boost::json::object detail)>;

  // Reads all sources into the index. With a sink, one detail is in memory at a time. Unreadable parts become
  // messages of their sources; an error comes from the sink alone.
  Result<> read(const Sink& each_detail = {});

  // Reads again what has changed since. Of a run, these are its new traces and those that had not ended; of
  // any source, the labels of the review log beside it.
  // True if the index has changed.
  bool refresh();

  const Index& index() const;

  // The row with this key; empty if there is none.
  std::optional<std::size_t> row_of(std::string_view key) const;

  // Reads the detail of one row again from its source.
  Result<boost::json::object> detail(std::string_view key);
  Result<boost::json::object> detail(std::size_t row);

  // The places of the details in a file, by row.
  void set_places(const std::vector<DetailPlace>& places);

  // Whether every part of every source could be read.
  bool is_whole() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::report
