#include "base/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <cstring>

namespace kw {
namespace {

std::string hex(const unsigned char* bytes, std::size_t size) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(size * 2);
  for (std::size_t i = 0; i < size; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

std::string digest_hex(std::string_view bytes, const EVP_MD* kind) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, kind, nullptr);
  return hex(digest.data(), size);
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  return digest_hex(bytes, EVP_sha256());
}

std::string sha1_hex(std::string_view bytes) {
  return digest_hex(bytes, EVP_sha1());
}

std::string sha256_hex_of(std::initializer_list<std::string_view> parts) {
  std::string joined;
  for (std::string_view part : parts) {
    joined += std::to_string(part.size());
    joined += ':';
    joined += part;
  }
  return sha256_hex(joined);
}

std::uint64_t SecretSeeds::next() {
  ++counter_;
  std::array<char, sizeof counter_> message{};
  std::memcpy(message.data(), &counter_, sizeof counter_);
  return of({message.data(), message.size()});
}

std::uint64_t SecretSeeds::of(std::string_view label) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
       reinterpret_cast<const unsigned char*>(label.data()), label.size(), digest.data(), &size);
  std::uint64_t seed = 0;
  std::memcpy(&seed, digest.data(), sizeof seed);
  return seed >> 1;  // torch takes signed seeds
}

}  // namespace kw
