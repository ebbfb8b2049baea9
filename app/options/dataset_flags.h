// Flags of the verbs of `dataset`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataset/build/dedup.h"
#include "dataset/fetch/git_source.h"
#include "dataset/pairs/pairs.h"
#include "dataset/synth/draft.h"
#include "options/review_flags.h"
#include "types/options.h"

namespace kw {

// Resource limits; every verb has these.
struct DatasetMachineFlags {
  std::size_t threads = 0;  // 0: as many as there are cores
  std::uint64_t memory_bytes = std::uint64_t{2} << 30;
  std::string python;
  bool quiet = false;

  void add(CLI::App& app);
};

// Criteria for near duplicates.
struct NearFlags {
  double threshold = 0.8;
  std::uint64_t shingle_tokens = 5;

  void add(CLI::App& app);
};

// Criteria for leakage.
struct LeakFlags {
  std::vector<std::string> against;
  double jaccard = 0.8;
  std::optional<double> containment;

  void add(CLI::App& app, const std::string& what);
};

// Names of the columns of a file.
struct ColumnFlags {
  std::string prompt = "prompt";
  std::string completion = "completion";
  bool single_text = false;

  void add(CLI::App& app);
};

struct DatasetBuildFlags {
  std::vector<std::string> sources;
  std::vector<std::string> packages;
  std::string package_form = "auto";
  std::vector<fetch::GitSource> repositories;
  std::vector<std::string> pairs;
  std::string out;
  std::string state;
  std::string review;
  bool add_to = false;
  bool hold_flagged = false;
  bool any_licence = false;
  std::vector<std::string> licences;
  std::vector<std::string> stated;  // NAME=SPDX
  pairs::Rendering fim = pairs::Rendering::psm;
  pairs::Body body = pairs::Body::plain;
  std::uint64_t holes = 1;
  std::uint64_t max_tokens = 1'024;
  std::uint64_t shortest_completion = 32;
  std::uint64_t equal_completions = 2;
  std::vector<std::string> hardware;
  bool cuda_fim = false;
  double least_confidence = 0.6;
  bool compile = true;
  std::vector<unsigned> targets = {80, 86, 90};
  std::size_t jobs = 0;
  std::string nvcc;
  bool allow_unsandboxed = false;
  bool tokens = true;
  std::string tokenizer;
  bool figures = true;
  std::string push_to_hub;
  bool is_private = false;
  double validation_share = 0.02;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> largest_file_bytes;
  DatasetMachineFlags machine;
  NearFlags near;
  LeakFlags leak;

  void add(CLI::App& app);
};

struct DatasetDiscoverFlags {
  std::string word;
  bool json = false;

  void add(CLI::App& app);
};

struct DatasetDedupFlags {
  std::vector<std::string> files;
  std::vector<std::string> against;
  std::string out;
  std::string index;
  dataset::Keep keep = dataset::Keep::first;
  bool exact_only = false;
  DatasetMachineFlags machine;
  NearFlags near;
  ColumnFlags columns;

  void add(CLI::App& app);
};

struct DatasetAuditFlags {
  std::vector<std::string> files;
  std::vector<std::string> validation;
  std::string out;
  bool between_rows = true;
  bool fail_on_leak = false;
  DatasetMachineFlags machine;
  LeakFlags leak;
  ColumnFlags columns;

  void add(CLI::App& app);
};

struct DatasetExportFlags {
  std::string source;
  std::string out;
  std::vector<std::string> kinds;
  std::string split;
  std::vector<std::string> labels;
  bool metadata = false;
  bool messages = false;
  bool unflagged = false;
  ReviewFlags review;
  DatasetMachineFlags machine;
  ColumnFlags columns;

  void add(CLI::App& app);
};

struct DatasetSynthFlags {
  std::string out;
  std::optional<std::uint64_t> count;  // empty: 100 that are drawn, all kernels that are taken
  std::uint64_t seed = 0;
  synth::Source source = synth::Source::pytorch;
  std::vector<std::string> from;
  std::string manifest;
  std::vector<std::string> families;
  bool quiet = false;
  NearFlags near;
  Settings settings;

  void add(CLI::App& app);
};

}  // namespace kw
