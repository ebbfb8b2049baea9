// Test world of trainings: a temporary folder, a file of rows, and a shell as the trainer.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "train/job/job.h"
#include "train/job/output_folder.h"

namespace kw::training {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "kw-training-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
  return path.string();
}

inline std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The error, with the remedy after an arrow; "" without one.
template <typename T>
std::string fault(const Result<T>& result) {
  return result ? "" : result.error().what + " -> " + result.error().remedy;
}

}  // namespace kw::training
