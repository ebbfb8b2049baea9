// A folder of its own for a test, and what a source yields.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tasks/job_source.h"

namespace kw {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "kw-unit-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name = "") const { return name.empty() ? path_ : path_ + "/" + name; }

  // Writes a file, with the folders above it.
  std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::string path_;
};

struct Yield {
  std::vector<Job> jobs;
  std::vector<RowError> errors;
  std::string broken;  // what ended the source before its end
};

inline Yield drain(const Result<std::unique_ptr<JobSource>>& source) {
  Yield yield;
  if (!source) {
    yield.broken = source.error().what;
    return yield;
  }
  while (true) {
    auto next = (*source)->next();
    if (!next) {
      yield.broken = next.error().what;
      return yield;
    }
    if (!*next) return yield;
    if (auto* job = std::get_if<Job>(&**next))
      yield.jobs.push_back(std::move(*job));
    else
      yield.errors.push_back(std::get<RowError>(**next));
  }
}

}  // namespace kw
