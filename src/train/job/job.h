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

// An error for a file that is missing, not regular, empty, unreadable, or given twice.
Result<std::vector<DataFile>> look_at_files(const std::vector<std::string>& paths);

// Job: the input of the trainer, a Python process, which reads it from a file.
struct Job {
  std::string model;  // an absolute path, or a name on the hub
  std::vector<DataFile> data;
  std::string output;  // an absolute path
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

// Schema kernelwright.train-job/1. "data" lists the paths, "files" also size and SHA-256.
boost::json::object to_json(const Job& job);

}  // namespace kw::training
