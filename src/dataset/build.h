// From sources to a training set: the whole of `dataset build`.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/collect.h"
#include "dataset/facts.h"
#include "dataset/python.h"
#include "labels/labels.h"
#include "leak/leak.h"
#include "near/near.h"
#include "pairs/pairs.h"

namespace kw::dataset {

struct LicenceRule {
  bool any = false;                           // every licence, and none
  std::vector<std::string> allow;             // SPDX identifiers
  std::map<std::string, std::string> stated;  // source name → the licence of what has none there
};

struct BuildSettings {
  std::vector<std::string> sources;   // paths: trees, archives, runs
  std::vector<std::string> packages;  // NAME or NAME==VERSION, fetched through pip
  std::string package_form = "auto";
  std::vector<std::string> pairs;    // folders of pairs made by hand
  std::vector<std::string> against;  // benchmarks
  std::filesystem::path out;
  std::filesystem::path state;   // what the next build need not do again
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
  collect::Limits limits;
  near::Parameters near;
  leak::Thresholds leak;
  pairs::FimOptions fim;
  pairs::MatchOptions match;
  labels::CompileOptions labels;
  PythonTools python;
  std::string program;             // version
  std::string made_by;             // what was asked for, without paths and threads
  boost::json::object parameters;  // as ANALYSIS.json has them
};

// Said while the build goes on: "parse", how many of how many (0: unknown).
using Progress = std::function<void(const std::string& stage, std::uint64_t done, std::uint64_t of)>;

struct Watch {
  Progress progress;
  std::function<bool()> stop;
};

// Files are made aside and moved into the folder at the end: what fails or is stopped before changes none of
// them.
Result<Facts> build(const BuildSettings& settings, const Watch& watch);

}  // namespace kw::dataset
