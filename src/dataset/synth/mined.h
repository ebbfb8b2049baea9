// Pairs of a CUDA kernel of one source and a Triton kernel of another that compute the same, as the manifest
// lists them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "dataset/synth/draft.h"
#include "dataset/synth/mined_manifest.h"
#include "dataset/synth/named.h"
#include "dataset/units/unit.h"

namespace kw::synth {

// The files of sources, by the source's name and the path.
using MinedFiles = std::map<std::pair<std::string, std::string>, corpus::SourceFile>;

// The draft of a pair. Without a kernel where a source or a file is missing, where a file differs from its
// pin, or where something that a kernel needs is not found. The number is not set.
Draft mined_draft(const MinedPair& pair, const MinedFiles& files);

struct MinedSources {
  std::vector<std::string> paths;  // folders, checkouts, archives
  std::string manifest;            // a folder; empty: the pairs that the program contains
  std::vector<std::string> families;
  std::vector<std::string> licences;
};

Result<NamedDrafts> read_mined(const MinedSources& sources);

}  // namespace kw::synth
