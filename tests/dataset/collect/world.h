// The result of a collection, and a folder as its source.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/core/files.h"
#include "dataset/collect/collect.h"

namespace kw::collect {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "kw-collect-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    EXPECT_TRUE(write_file(path_ / name, bytes));
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

struct Collected {
  std::vector<corpus::SourceFile> files;
  std::vector<Skipped> skips;
  Tally tally;
  std::string error;

  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (const auto& file : files) all.push_back(file.path);
    return all;
  }
  std::map<std::string, std::string> reasons() const {
    std::map<std::string, std::string> all;
    for (const auto& skip : skips) all[skip.path] = skip.reason;
    return all;
  }
};

inline Collected collected(const std::string& path, const Limits& limits = {}) {
  Collected result;
  Sink sink;
  sink.wants = [](const std::string& name) { return name.ends_with(".py"); };
  sink.take = [&](corpus::SourceFile file) { result.files.push_back(std::move(file)); };
  sink.skip = [&](Skipped skipped) { result.skips.push_back(std::move(skipped)); };
  auto tally = collect(path, limits, sink);
  if (tally)
    result.tally = *tally;
  else
    result.error = tally.error().what;
  return result;
}

}  // namespace kw::collect
