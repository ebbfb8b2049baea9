// `kernelwright new`: writes a reference and a Triton kernel that passes, as a beginning for others.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kw::app {

struct NewFlags {
  std::string name;
  std::string output = ".";
  bool quiet = false;

  void add(CLI::App& app);
};

// Returns 0; 2 for a name that is no Python name; 1 if a file exists or cannot be written.
int new_pair(const NewFlags& flags);

}  // namespace kw::app
