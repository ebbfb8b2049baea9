// The result as JSON, `kernelwright.score/1`: docs/score.schema.json states its form.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "score/held_out.h"
#include "scoring/output.h"
#include "scoring/sections.h"

namespace kw::scoring {

inline constexpr const char* score_schema = "kernelwright.score/1";

// A manifest that the outputs were held against, and what of them stands in it.
struct TrainingCheck {
  struct Manifest {
    std::string path;
    std::string base_model;
    std::size_t rows = 0;
    std::size_t rows_without_task = 0;
  };
  struct Seen {
    std::string item;  // a target, or a task that was to be asked
    std::string by;
    std::string what;
    std::string manifest;
  };
  std::vector<Manifest> manifests;  // none: nothing was checked
  std::size_t items = 0;            // that were looked for
  std::size_t not_comparable = 0;   // of these have neither task, id nor text to be looked for by
  std::vector<Seen> seen;
  bool is_allowed = false;
};

// What the after is compared with.
struct Baseline {
  std::string name;  // a path or a model
  std::vector<Record> records;
};

struct ResultParts {
  boost::json::object made;      // program, revision, time, command, folder
  boost::json::object scored;    // sources, model, sampling
  boost::json::object protocol;  // what a verdict depends on
  boost::json::object machine;
  TrainingCheck training;
  const OutputSet* set = nullptr;
  std::optional<Baseline> baseline;
  std::size_t compile_asked = 0;
  Figures figures;
};

boost::json::object result_of(const ResultParts& parts);

// An earlier result, and the records in it. Error: no result of this program, of another version, broken.
Result<boost::json::object> read_result(const std::filesystem::path& path);
Result<std::vector<Record>> records_of(const boost::json::object& result);

// Whether the file is a result of `score`, by its beginning.
bool is_result(const std::filesystem::path& path);

// Several lines, objects member by member: a person may look into it.
std::string pretty(const boost::json::object& object);

}  // namespace kw::scoring
