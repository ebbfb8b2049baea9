// Job: what the trainer, a Python process, is asked to do. It reads it from a file.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "training/data_files.h"

namespace kw::training {

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
  std::optional<std::string> push_to_hub;  // "owner/name"
  std::string program;                     // "kernelwright 1.2.3"
  recipe::Recipe recipe;
};

// Schema kernelwright.train-job/1. Besides "data", the paths, "files" says what they held: bytes and SHA-256.
boost::json::object to_json(const Job& job);

}  // namespace kw::training
