// One hash per text and band: finds texts that share a band, and the first band that two texts share.
// Complete reads and writes at an offset of a file.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/core/files.h"
#include "base/core/result.h"
#include "base/core/text.h"
#include "code/similarity/near.h"

namespace kw::near {

// Return false and set errno on failure; a read past the end is EIO.
inline bool read_at(const Fd& fd, void* to, std::size_t size, std::uint64_t from) {
  auto done = kw::read_at(fd.get(), from, {static_cast<char*>(to), size});
  if (done && *done < size) errno = EIO;
  return done == size;
}

inline bool write_at(const Fd& fd, const void* bytes, std::size_t size, std::uint64_t to) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    ssize_t n = ::pwrite(fd.get(), at, size, static_cast<off_t>(to));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    at += n;
    to += static_cast<std::uint64_t>(n);
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

// A text under the hash of its band; entries sorted as numbers are sorted by bucket.
struct Entry {
  std::uint64_t value = 0;  // hash, then number
  std::uint32_t hash() const { return static_cast<std::uint32_t>(value >> 32); }
  std::uint32_t number() const { return static_cast<std::uint32_t>(value); }
  auto operator<=>(const Entry&) const = default;
};

// In memory, or in an unnamed file above max_bytes. The hashes have 32 bits: collisions cost a comparison
// and change no result.
class BandTable {
 public:
  static Result<BandTable> make(const SketchFile& sketches, std::uint64_t max_bytes);

  // The entries of one band, sorted.
  Result<std::vector<Entry>> sorted(unsigned band) const;

  // Whether the two share an earlier band. Ignores bands in which one of them was dropped.
  Result<bool> share_before(unsigned band, std::uint32_t a, std::uint32_t b) const;
  Result<> forget(unsigned band, std::uint32_t number);

 private:
  Result<> add(const SketchFile::Block& block, const Parameters& parameters);
  std::uint64_t place(std::uint32_t number) const { return std::uint64_t{number} * bands_; }

  std::uint32_t count_ = 0;
  unsigned bands_ = 0;
  std::vector<std::uint32_t> hashes_;  // one text's bands are adjacent; empty if the file has them
  Fd file_;
};

}  // namespace kw::near
