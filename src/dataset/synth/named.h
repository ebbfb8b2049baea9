// Kernels of packages that are named after operations of PyTorch, with these operations as their references.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "dataset/synth/draft.h"
#include "dataset/units/unit.h"

namespace kw::synth {

// One draft for each function of the file that has the name of a known operation; none for a file without
// kernels. A file that needs its package gives drafts without a kernel. The numbers are not set.
std::vector<Draft> named_drafts(const corpus::SourceFile& file, std::uint64_t seed);

// "flag-gems 5.0.2"; of a checkout its name.
std::string origin_text(const corpus::Origin& origin);
// What tells a source from another state of it.
class ReadFiles {
 public:
  void add(const corpus::SourceFile& file);
  // The origin's text with the SHA-256 of the archive; of a folder, with the commit and the SHA-256 of the
  // files that were added.
  std::string identity(const corpus::Origin& origin) const;

 private:
  std::string lines_;  // of each file SHA-256, licence and path
};

// The whole file.
corpus::Place place_of(const corpus::SourceFile& file);

struct NamedSources {
  std::vector<std::string> paths;     // folders, checkouts, archives
  std::vector<std::string> families;  // empty: all
  std::vector<std::string> licences;  // of the files that are taken
  std::uint64_t seed = 0;
};

struct NamedDrafts {
  std::vector<Draft> drafts;            // numbered from 0, in the order of the files
  std::vector<std::string> sources;     // names and versions
  std::vector<std::string> identities;  // of the sources, and of the manifest of mined pairs
};

Result<NamedDrafts> read_named(const NamedSources& sources);

}  // namespace kw::synth
