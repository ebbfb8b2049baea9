// The result as JSON, `kernelwright.score/1`: docs/score.schema.json states its form.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "score/checks/held_out.h"
#include "score/report/output.h"
#include "score/report/sections.h"

namespace kw::scoring {

inline constexpr const char* score_schema = "kernelwright.score/1";

// A manifest that the outputs were checked against, and its matches.
struct TrainingCheck {
  struct Manifest {
    std::string path;
    std::string base_model;
    std::size_t rows = 0;
    std::size_t rows_without_task = 0;
  };
  struct Seen {
    std::string item;  // a target, or a task to be asked
    std::string by;
    std::string what;
    std::string manifest;
  };
  std::vector<Manifest> manifests;  // empty: nothing was checked
  std::size_t items = 0;            // that were compared
  std::size_t not_comparable = 0;   // of these: without task, id and text
  std::vector<Seen> seen;
  bool is_allowed = false;
};

// The baseline of the comparison.
struct Baseline {
  std::string name;  // a path or a model
  std::vector<ScoredAnswer> records;
};

struct ResultParts {
  boost::json::object made;      // program, revision, time, command, folder
  boost::json::object scored;    // sources, model, sampling
  boost::json::object protocol;  // the settings on which a verdict depends
  boost::json::object machine;
  TrainingCheck training;
  const OutputSet* set = nullptr;
  std::optional<Baseline> baseline;
  std::size_t compile_asked = 0;
  Figures figures;
};

boost::json::object result_of(const ResultParts& parts);

// An earlier result with its records. Error: not a result of this program, another version, or damaged.
Result<boost::json::object> read_result(const std::filesystem::path& path);
Result<std::vector<ScoredAnswer>> records_of(const boost::json::object& result);

// Whether the file is a result of `score`, by its first bytes.
bool is_result(const std::filesystem::path& path);

// JSON on several lines, one member per line, readable by people.
std::string pretty(const boost::json::object& object);

}  // namespace kw::scoring
