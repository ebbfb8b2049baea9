#include "base/http/access.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cmath>

#include "base/core/crypto.h"
#include "base/core/text.h"

namespace kw::http {
namespace {

constexpr std::size_t secret_digits = 32;
constexpr double burst_s = 5;
constexpr double least_burst = 10;
// The number of remembered addresses above which idle ones are forgotten.
constexpr std::size_t most_addresses = 16'384;

std::string given_key(const Headers& headers) {
  std::string_view value = header(headers, "Authorization");
  std::string_view scheme = value.substr(0, value.find(' '));
  std::string_view rest = trim(value.substr(scheme.size()));
  if (iequals(scheme, "Bearer")) return std::string(rest);
  // Clients without configurable headers can use a URL with a password: http://anybody:KEY@host
  if (auto named = iequals(scheme, "Basic") ? base64_decoded(rest) : std::nullopt)
    return named->substr(std::min(named->size(), named->find(':') + 1));
  return std::string(header(headers, "X-API-Key"));
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return difference == 0;
}

std::string given_key_digest(const Headers& headers) {
  return sha256_hex(given_key(headers));
}

KeyCheck::KeyCheck(std::string_view key) : digest_(key.empty() ? std::string() : sha256_hex(key)) {}

// Compares hashes, so that the time does not reveal the key's length.
bool KeyCheck::matches(std::string_view given) const {
  return digest_.empty() || equal_in_constant_time(digest_, sha256_hex(given));
}

bool KeyCheck::admits(const Headers& headers) const {
  return matches(given_key(headers));
}

std::string random_secret() {
  return sha256_hex(random_bytes(32)).substr(0, secret_digits);
}

std::string client_of(std::string_view address) {
  boost::system::error_code error;
  auto parsed = boost::asio::ip::make_address(std::string(address), error);
  if (error || !parsed.is_v6()) return std::string(address);
  auto bytes = parsed.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return boost::asio::ip::address_v6(bytes).to_string();
}

double RateLimit::burst() const {
  return burst_ > 0 ? burst_ : std::max(least_burst, per_second_ * burst_s);
}

int RateLimit::seconds_to_wait(std::string_view address, Time now) {
  if (per_second_ <= 0) return 0;
  auto [place, is_new] = buckets_.try_emplace(client_of(address));
  Bucket& bucket = place->second;
  double passed_s = std::chrono::duration<double>(now - bucket.at).count();
  bucket.tokens = is_new ? burst() : std::min(burst(), bucket.tokens + passed_s * per_second_);
  bucket.at = now;
  if (bucket.tokens < 1) return static_cast<int>(std::ceil((1 - bucket.tokens) / per_second_));
  bucket.tokens -= 1;
  if (buckets_.size() > most_addresses) forget_the_idle(now);
  return 0;
}

bool RateLimit::is_spent(std::string_view address, Time now) const {
  auto place = buckets_.find(client_of(address));
  if (per_second_ <= 0 || place == buckets_.end()) return false;
  double passed_s = std::chrono::duration<double>(now - place->second.at).count();
  return place->second.tokens + passed_s * per_second_ < 1;
}

// Full buckets carry no information. If erasing these frees too little, erases all, since memory must stay
// bounded.
void RateLimit::forget_the_idle(Time now) {
  std::erase_if(buckets_, [&](const auto& each) {
    return each.second.tokens + std::chrono::duration<double>(now - each.second.at).count() * per_second_ >=
           burst();
  });
  if (buckets_.size() > most_addresses / 2) buckets_.clear();
}

}  // namespace kw::http
