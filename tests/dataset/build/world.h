// A temporary folder for a test, and files in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace kw::dataset {

class World {
 public:
  World() {
    std::string name = (std::filesystem::temp_directory_path() / "kw-dataset-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() { std::filesystem::remove_all(folder_); }

  const std::filesystem::path& folder() const { return folder_; }

  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  std::filesystem::path folder_;
};

// Fifty statements, different for every seed; two texts of one seed differ in `changed` of them.
inline std::string code(int seed, int changed = 0) {
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += "value_" + std::to_string(seed) + "_" + std::to_string(i) + " = load(" +
            std::to_string(seed * 7 + i) + ") + " + (i < changed ? "other" : "same") + "\\n";
  return text;
}

// A JSON line of two texts without characters to escape.
inline std::string row(const std::string& prompt, const std::string& completion) {
  return R"({"prompt":")" + prompt + R"(","completion":")" + completion + "\"}\n";
}

}  // namespace kw::dataset
