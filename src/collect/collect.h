// Sources → files: folders, git checkouts, wheels, source distributions, archives. Nothing is imported, run,
// or written anywhere but into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "corpus/place.h"

namespace kw::collect {

struct Limits {
  std::uint64_t file_bytes = std::uint64_t{16} << 20;   // a larger file is passed over
  std::uint64_t total_bytes = std::uint64_t{64} << 30;  // of what one source unpacks to
  std::uint64_t entries = 2'000'000;                    // of one archive
  double expansion = 1'000;                             // unpacked bytes a packed byte, beyond 64 MiB
  unsigned depth = 2;                                   // of archives in archives
};

// What was not read, and why.
struct Skipped {
  std::string origin;
  std::string path;
  std::string reason;  // one of few: "too large", "not UTF-8", "leads outside", ...
  std::string detail;
};

struct Tally {
  std::uint64_t files_seen = 0;
  std::uint64_t files_taken = 0;
  std::uint64_t bytes_seen = 0;
  std::uint64_t bytes_taken = 0;
  std::map<std::string, std::uint64_t> skipped;  // reason → how many
};

// Called for one file after the other, in an order that depends on the source's content alone.
struct Sink {
  std::function<bool(const std::string& path)> wants;   // by name; is asked before anything is unpacked
  std::function<bool(std::string_view bytes)> matters;  // the byte pre-filter
  std::function<void(corpus::SourceFile file)> take;
  std::function<void(Skipped skipped)> skip;
};

// The origin of a path without reading its files: for an archive its hash, for a checkout its commit.
Result<corpus::Origin> identify(const std::string& path);

// Reads all files of the source at `path`, which may be a folder, a checkout or an archive. Licences are
// settled before the first file is handed on. An Error means that the source as a whole cannot be read;
// what is wrong with a single file goes to skip.
Result<Tally> collect(const std::string& path, const Limits& limits, const Sink& sink);

}  // namespace kw::collect
