// The sources of a build: named, fetched, and from an earlier build; their units and statistics are stored in
// the state folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "dataset/build/build.h"

namespace kw::dataset {

// Identifies the content of a source and the way it is read: an archive by its hash, a folder by its files'
// names, sizes and modification times.
Result<std::string> source_key(const std::string& path, const corpus::Origin& origin,
                               const BuildSettings& settings);

struct SourceFiles {
  std::filesystem::path units;    // JSON lines of units
  std::filesystem::path skipped;  // JSON lines of skipped files
  std::filesystem::path facts;    // exists only if the others are complete
};

SourceFiles source_files(const std::filesystem::path& state, const std::string& key);

Result<> save_facts(const SourceFacts& facts, const std::filesystem::path& path);
// Empty if the source must be read.
std::optional<SourceFacts> load_facts(const std::filesystem::path& path);

// The sources of a build: named, fetched, and from an earlier build.
struct Sources {
  std::vector<std::string> trees;   // folders, checkouts, archives
  std::vector<std::string> runs;    // runs and exported traces
  std::vector<std::string> pairs;   // folders of pairs made by hand
  std::vector<std::string> pinned;  // URL@COMMIT of repositories that were named without a commit
};

// Fetches packages and clones repositories into the state. With `add`, puts the sources of the last build
// first.
Result<Sources> find_sources(const BuildSettings& settings, const Watch& watch);

// The name of a run or an exported trace file: that of its folder or file.
std::string run_name(const std::string& path);
// The name of a folder of pairs.
std::string pairs_name(const std::string& folder);

// Stores the sources for the next build with `add`.
Result<> remember(const Sources& sources, const BuildSettings& settings);

// Stores the units of one source in the state folder.
struct Gathered {
  std::string name;  // of the source, as --licence-of gives it
  SourceFacts facts;
  SourceFiles files;
  double collect_seconds = 0;  // reading, unpacking, licences and parsing
  double link_seconds = 0;
};

// Reads the source unless the state has its units.
Result<Gathered> gather(const std::string& path, const BuildSettings& settings, const Watch& watch);

}  // namespace kw::dataset
