#include "base/core/crypto.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
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

std::string digest_of(std::string_view bytes, const EVP_MD* kind) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, kind, nullptr);
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string digest_hex(std::string_view bytes, const EVP_MD* kind) {
  std::string digest = digest_of(bytes, kind);
  return hex(reinterpret_cast<const unsigned char*>(digest.data()), digest.size());
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  return digest_hex(bytes, EVP_sha256());
}

std::string sha256_bytes(std::string_view bytes) {
  return digest_of(bytes, EVP_sha256());
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

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    ssize_t n = ::getrandom(bytes.data() + done, count - done, 0);
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return bytes;
}

namespace {

bool is_base64_digit(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '+' || c == '/';
}

}  // namespace

std::string base64_encoded(std::string_view bytes) {
  // Whole groups of three bytes have no padding, so that the pieces can be joined.
  constexpr std::size_t piece_bytes = std::size_t{3} << 20;
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4 + 1);
  while (!bytes.empty()) {
    std::string_view piece = bytes.substr(0, piece_bytes);
    std::size_t begin = text.size();
    text.resize(begin + (piece.size() + 2) / 3 * 4 + 1);  // and the NUL that OpenSSL writes
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data() + begin),
                    reinterpret_cast<const unsigned char*>(piece.data()), static_cast<int>(piece.size()));
    text.pop_back();
    bytes.remove_prefix(piece.size());
  }
  return text;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  if (text.size() % 4 != 0 || text.size() > INT_MAX) return {};
  if (!std::ranges::all_of(text.substr(0, text.size() - padding), is_base64_digit)) return {};
  std::string bytes(text.size() / 4 * 3, '\0');
  int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (length < 0) return {};
  bytes.resize(static_cast<std::size_t>(length) - padding);
  return bytes;
}

}  // namespace kw
