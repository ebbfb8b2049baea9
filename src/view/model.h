// What a page shows, as docs/report_format.md describes it. `report` writes it into a file; `view` serves it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace kw::view {

// One thread at a time uses a model.
class Model {
 public:
  virtual ~Model() = default;

  // Reads the inputs for the first time. Unreadable parts become messages of the index.
  virtual Result<> read() = 0;
  // Reads again what has changed since. True if the index has changed.
  virtual Result<bool> refresh() = 0;
  // The index as JSON.
  virtual std::string index() = 0;
  // The detail of a row as JSON on one line; empty for an unknown key.
  virtual Result<std::optional<std::string>> detail(const std::string& key) = 0;
};

// Reads nothing yet. Inputs are a run, files of traces, verdicts or scores, the folder of a data set.
using MakeModel = std::function<std::unique_ptr<Model>(const std::vector<std::string>& paths)>;

// An input in a folder.
struct RunFacts {
  std::string path{};  // relative to the folder
  std::string name{};
  std::string kind{};
  std::string state{};                   // empty: not known without reading all of it
  std::optional<std::uint64_t> rows{};   // the same
  std::optional<std::uint64_t> right{};  // the same
  std::string modified_at{};             // ISO 8601, UTC
};

// Recognises one file or folder, and reads the figures that are cheap; empty if it is no input. Sets neither
// path nor time.
using DescribeRun = std::function<std::optional<RunFacts>(const std::string& path)>;

struct ModelReader {
  MakeModel make;
  DescribeRun describe;
  // The inputs in a folder that is none itself.
  std::function<Result<std::vector<std::string>>(const std::string& folder)> inputs_in;
};

}  // namespace kw::view
