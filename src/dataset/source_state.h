// What is kept of a source between builds: its units, and what was seen in it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "dataset/build.h"

namespace kw::dataset {

// Names the content of a source and how it is read: an archive by its hash, a tree by its files' names, sizes
// and times of change.
Result<std::string> source_key(const std::string& path, const corpus::Origin& origin,
                               const BuildSettings& settings);

struct SourceFiles {
  std::filesystem::path units;    // JSON lines of units
  std::filesystem::path skipped;  // JSON lines of what was not read
  std::filesystem::path facts;    // is there once the others are whole
};

SourceFiles source_files(const std::filesystem::path& state, const std::string& key);

Result<> save_facts(const SourceFacts& facts, const std::filesystem::path& path);
// Nothing where the source has to be read.
std::optional<SourceFacts> load_facts(const std::filesystem::path& path);

}  // namespace kw::dataset
