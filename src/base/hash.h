// SHA-256 and SHA-1 as lower-case hex, and seeds by a keyed hash.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace kw {

std::string sha256_hex(std::string_view bytes);

// For keys that others compute too; no protection against anyone who wants a collision.
std::string sha1_hex(std::string_view bytes);

// The hash of the parts, each preceded by its length, so that no two lists of parts collide by concatenation.
std::string sha256_hex_of(std::initializer_list<std::string_view> parts);

// Seeds that a candidate cannot predict: HMAC-SHA256 of a secret over the counter's bytes, first 63 bits.
class SecretSeeds {
 public:
  explicit SecretSeeds(std::string secret) : secret_(std::move(secret)) {}
  std::uint64_t next();

  // The same for the same label: what all candidates of one task may share.
  std::uint64_t of(std::string_view label) const;

 private:
  std::string secret_;
  std::uint64_t counter_ = 0;
};

}  // namespace kw
