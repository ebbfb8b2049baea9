// One hash a text and band: which texts share a band, and which is the first band that two texts share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "near/near.h"

namespace kw::near {

// A text that shares a band, under its band's hash; sorted as numbers they stand bucket by bucket.
struct Entry {
  std::uint64_t value = 0;  // hash, then number
  std::uint32_t hash() const { return static_cast<std::uint32_t>(value >> 32); }
  std::uint32_t number() const { return static_cast<std::uint32_t>(value); }
  auto operator<=>(const Entry&) const = default;
};

// In memory, or in a file without a name where it would take more than max_bytes. The hashes have 32 bits:
// buckets that fall together by chance cost a comparison and change no result.
class BandTable {
 public:
  static Result<BandTable> make(const SketchFile& sketches, std::uint64_t max_bytes);

  // Of one band, sorted.
  Result<std::vector<Entry>> sorted(unsigned band) const;

  // Whether the two share a band before this one. Counts no band in which one of them was forgotten.
  Result<bool> share_before(unsigned band, std::uint32_t a, std::uint32_t b) const;
  Result<> forget(unsigned band, std::uint32_t number);

 private:
  Result<> add(const SketchFile::Block& block, const Parameters& parameters);
  std::uint64_t place(std::uint32_t number) const { return std::uint64_t{number} * bands_; }

  std::uint32_t count_ = 0;
  unsigned bands_ = 0;
  std::vector<std::uint32_t> hashes_;  // a text's bands side by side; empty where the file has them
  Fd file_;
};

}  // namespace kw::near
