// Flags of `score`: inputs, comparison, metrics and output.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "options/input_flags.h"
#include "options/model_flags.h"
#include "score/report/read_outputs.h"

namespace kw {

struct ScoreFlags {
  SourceFlags source;  // its paths are outputs unless a model is asked
  ModelFlags model;
  LoopFlags loop;  // samples, prompt style and system prompt alone
  std::string output = "score.json";
  scoring::Turns turns = scoring::Turns::best;
  bool recorded = false;
  std::string prompt_column = "prompt";
  std::string output_column;
  std::string reference_column;
  std::string baseline;
  std::string baseline_model;
  std::vector<std::string> adapters;
  std::vector<std::string> manifests;
  bool allow_trained = false;
  std::vector<std::size_t> k;  // of pass@k; empty: 1, and the samples that every task has
  std::uint64_t compile = 0;
  std::uint64_t review = 0;
  bool show_findings = false;
  std::string read_review;
  bool fresh = false;
  bool json = false;
  bool dry_run = false;
  bool quiet = false;

  void add(CLI::App& app);

  // True if a server or recordings are given: then `score` requests answers, else it reads files of outputs.
  bool asks_a_model() const { return !model.url.empty() || !model.replay.empty(); }
  // "score.json" → "score" + ending.
  std::filesystem::path beside(const std::string& ending) const;
};

// Parses the values of k of pass@k: "1,5,10".
Result<std::vector<std::size_t>> parse_k(const std::string& text);

}  // namespace kw
