// SHA-256 and SHA-1 as lower-case hex, seeds by a keyed hash, random bytes, and base64.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace kw {

// SHA-256 and SHA-1 as lower-case hex, and seeds by a keyed hash.
std::string sha256_hex(std::string_view bytes);

// The 32 bytes.
std::string sha256_bytes(std::string_view bytes);

// SHA-1, for keys that other programs also compute; not resistant to deliberate collisions.
std::string sha1_hex(std::string_view bytes);

// The hash of the parts, each preceded by its length, so that no two lists of parts collide by concatenation.
std::string sha256_hex_of(std::initializer_list<std::string_view> parts);

// Seeds that a candidate cannot predict: HMAC-SHA256 of a secret over the counter's bytes, first 63 bits.
class SecretSeeds {
 public:
  explicit SecretSeeds(std::string secret) : secret_(std::move(secret)) {}
  std::uint64_t next();

  // The same seed for the same label, shared by all candidates of one task.
  std::uint64_t of(std::string_view label) const;

 private:
  std::string secret_;
  std::uint64_t counter_ = 0;
};

// Random bytes from the kernel.
std::string random_bytes(std::size_t count);

// With padding, on one line.
std::string base64_encoded(std::string_view bytes);

// The decoded bytes; empty if the text is not base64 with padding.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace kw
