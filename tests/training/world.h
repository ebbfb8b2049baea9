// A small world for trainings: a folder of its own, a file of rows, and a shell as the trainer.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "training/job.h"
#include "training/output_folder.h"

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

// What is wrong, with the remedy behind an arrow; empty where nothing is.
template <typename T>
std::string fault(const Result<T>& result) {
  return result ? "" : result.error().what + " -> " + result.error().remedy;
}

}  // namespace kw::training
