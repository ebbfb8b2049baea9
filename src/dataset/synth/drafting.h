// Makes drafts in confined child processes: each draws one source, has it compiled and rewrites the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "dataset/synth/draft.h"

namespace kw::synth {

struct DraftOptions {
  std::string python;                    // with PyTorch and Triton
  std::vector<std::string> python_path;  // where our package lies
  std::string native;                    // where libkwsandbox.so lies
  unsigned jobs = 2;
  unsigned longest_s = 60;  // of processor time, a source
  bool allow_unsandboxed = false;
  Source source = Source::pytorch;
  std::uint64_t seed = 0;
  std::vector<std::string> families;  // empty: all
  std::function<void(std::size_t done, std::size_t of)> progress;
  std::function<bool()> stop;
};

// One draft for each number, in their order. A child that crashes, hangs or takes too much costs its source
// only: the draft has no kernel, and its reason says how the child ended.
Result<std::vector<Draft>> make_drafts(const std::vector<std::uint64_t>& numbers,
                                       const DraftOptions& options);

}  // namespace kw::synth
