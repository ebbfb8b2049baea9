// Flags of `certify`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "options/input_flags.h"
#include "types/certificate.h"
#include "types/options.h"

namespace kw {

struct CertifyFlags {
  SourceFlags source;
  Settings settings;
  std::uint64_t seed = 0;  // of --shuffle
  std::string output;
  bool fresh = false;
  bool json = false;
  bool quiet = false;
  std::vector<TaskMark> fail_on;

  void add(CLI::App& app);
};

}  // namespace kw
