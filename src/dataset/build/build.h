// `dataset build`: makes a dataset from sources.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "code/similarity/near.h"
#include "dataset/build/build_summary.h"
#include "dataset/build/python.h"
#include "dataset/collect/collect.h"
#include "dataset/fetch/git_command.h"
#include "dataset/fetch/git_source.h"
#include "dataset/labels/labels.h"
#include "dataset/leakage/leak.h"
#include "dataset/pairs/pairs.h"

namespace kw::dataset {

struct LicenceRule {
  bool any = false;                           // every licence, and none
  std::vector<std::string> allow;             // SPDX identifiers
  std::map<std::string, std::string> stated;  // source name → SPDX expression of its files without one

  // The stated licence of the source, with the evidence; empty if none was stated.
  corpus::Licence of(const std::string& source) const;
};

struct BuildSettings {
  std::vector<std::string> sources;   // paths: trees, archives, runs
  std::vector<std::string> packages;  // NAME or NAME==VERSION, fetched through pip
  std::string package_form = "auto";
  std::vector<fetch::GitSource> repositories;  // cloned with git
  std::vector<std::string> pairs;              // folders of pairs made by hand
  std::vector<std::string> against;            // benchmarks
  std::filesystem::path out;
  std::filesystem::path state;   // results that the next build reuses
  std::filesystem::path review;  // decisions of people
  bool add = false;              // to the sources of the last build
  bool hold_flagged = false;     // rows that resemble a benchmark wait for a decision
  bool cuda_fim = false;         // holes in CUDA functions too
  bool compile = true;
  bool count_tokens = true;
  bool figures = true;
  std::string tokenizer;  // a tokenizer.json; empty: one is trained
  std::string push_to;    // a repository of the hub; empty: none
  bool push_private = false;
  double validation_share = 0.02;
  std::uint64_t seed = 0;
  unsigned threads = 1;
  std::uint64_t memory_bytes = std::uint64_t{2} << 30;
  LicenceRule licences;
  std::set<corpus::Target> hardware{corpus::Target::neutral, corpus::Target::nvidia};  // of units with rows
  collect::Limits limits;
  fetch::GitLimits git_limits;
  near::Parameters near;
  leak::Thresholds leak;
  pairs::FimOptions fim;
  std::uint64_t most_equal_completions = 2;  // fill-in-the-middle rows with the same completion
  pairs::MatchOptions match;
  labels::CompileOptions labels;
  PythonTools python;
  std::string program;             // version
  std::string made_by;             // the command's settings, without paths and threads
  boost::json::object parameters;  // as ANALYSIS.json has them
};

// Reports progress: the stage, like "parse", the number done, and the total (0: unknown).
using Progress = std::function<void(const std::string& stage, std::uint64_t done, std::uint64_t of)>;

struct Watch {
  Progress progress;
  std::function<bool()> stop;
};

// Refuses a stated licence whose source is not among the build's sources, and names these. Does not report
// a source that is missing.
Result<> check_stated_licences(const BuildSettings& settings);

// The error of a build without any source.
std::unexpected<Error> no_source();

// Writes files to a temporary place and moves them into the folder at the end: an earlier error or stop
// changes no file there.
Result<BuildSummary> build(const BuildSettings& settings, const Watch& watch);

}  // namespace kw::dataset
