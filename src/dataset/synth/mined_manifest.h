// The manifest of mined pairs: which CUDA kernel of one source computes the same as which Triton kernel of
// another. It has names, places and hashes of the kernels, and this program's own text around them; never the
// kernels.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace kw::synth {

struct PinnedFile {
  std::string path;  // in the source
  std::string sha256;
};

// One kernel of a source.
struct MinedSide {
  std::string from;                // the source's name: "llm.c", "liger-kernel"
  std::vector<PinnedFile> files;   // the one that defines the names, then those that define what it needs
  std::vector<std::string> names;  // of what is taken; what that needs follows
  std::string prelude;             // own definitions in place of others that are not taken
  std::string entry;  // own text that calls it: triton_kernel_wrapper. CUDA: empty, if it cannot be run
};

struct MinedPair {
  std::string name;
  std::string family;
  std::string reference;  // a module with a function of the pair's name and its get_inputs
  MinedSide cuda;
  std::vector<std::string> launchers;  // host functions of the CUDA kernel; NVRTC does not see them
  std::string scope;                   // the namespace around the CUDA code
  MinedSide triton;
};

struct ManifestText {
  std::string_view name;  // "gelu"
  std::string_view toml;
};

// The pairs that the program contains, sorted by name.
std::span<const ManifestText> mined_manifest();

Result<MinedPair> read_mined_pair(std::string_view name, std::string_view toml);

// The pairs of a folder's *.toml, sorted by name; of an empty path, those that the program contains.
Result<std::vector<MinedPair>> read_mined_pairs(const std::string& folder);

}  // namespace kw::synth
