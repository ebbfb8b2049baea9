// Job: the input of the trainer, a Python process, which reads it from a file. Its data files are
// identified by their content.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "train/recipe/recipe.h"

namespace kw::training {

// The files of training rows, identified by their content.
struct DataFile {
  std::string path;  // absolute
  std::uint64_t bytes = 0;
  std::string sha256;  // of its bytes, lower-case hex
};

// An error for a file that is missing, not regular, empty, unreadable, or given twice. `flag` names the
// files.
Result<std::vector<DataFile>> look_at_files(const std::vector<std::string>& paths,
                                            const std::string& flag = "--data");

// The validation files that `dataset build` wrote beside these files of training rows: X_sft_validation.csv
// beside X_sft.csv, validation-* beside train-* in Parquet. An error where there is none.
Result<std::vector<std::string>> split_of(const std::vector<std::string>& data);

// An error for a validation file with the contents of a file of training rows.
Result<> check_held_out(const std::vector<DataFile>& data, const std::vector<DataFile>& validation);

// Job: the input of the trainer, a Python process, which reads it from a file.
struct Job {
  std::string model;  // an absolute path, or a name on the hub
  std::vector<DataFile> data;
  std::vector<DataFile> validation;  // rows for the held-out loss
  std::string output;                // an absolute path
  std::string engine = "trl";
  std::string device = "auto";
  std::optional<std::uint64_t> memory_bytes;  // of the device, at most
  std::optional<std::uint64_t> max_steps;
  bool resume = false;
  bool dry_run = false;
  bool force = false;                      // train even if nothing can be learnt
  std::optional<std::string> push_to_hub;  // "owner/name"
  std::string program;                     // "kernelwright 1.2.3"
  recipe::Recipe recipe;
};

// Schema kernelwright.train-job/1. "data" and "validation" list the paths, "files" and "validation_files"
// also size and SHA-256.
boost::json::object to_json(const Job& job);

}  // namespace kw::training
