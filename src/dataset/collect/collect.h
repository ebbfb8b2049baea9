// Reads the files of sources: folders, git checkouts, wheels, source distributions, archives. Imports and
// runs nothing, and writes to memory only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "dataset/units/unit.h"

namespace kw::collect {

struct Limits {
  std::uint64_t file_bytes = std::uint64_t{16} << 20;   // larger files are skipped
  std::uint64_t total_bytes = std::uint64_t{64} << 30;  // unpacked bytes of one source
  std::uint64_t entries = 2'000'000;                    // of one archive
  double expansion = 1'000;                             // unpacked bytes per packed byte, beyond 64 MiB
  unsigned depth = 2;                                   // of archives in archives
};

// A skipped file and the reason.
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
  std::map<std::string, std::uint64_t> skipped;  // reason → number of files
};

// Called for one file after the other. The order depends only on the source's content.
struct Sink {
  std::function<bool(const std::string& path)> wants;   // by name, before unpacking
  std::function<bool(std::string_view bytes)> matters;  // the byte pre-filter
  std::function<void(corpus::SourceFile file)> take;
  std::function<void(Skipped skipped)> skip;
};

// The origin of a path without reading its files: the hash of an archive, the commit of a checkout.
Result<corpus::Origin> identify(const std::string& path);

// Reads all files of the source at `path`, which may be a folder, a checkout or an archive. Licences are
// determined before the first file is passed on. An Error means that the complete source is unreadable;
// errors of single files go to `skip`.
Result<Tally> collect(const std::string& path, const Limits& limits, const Sink& sink);

}  // namespace kw::collect
