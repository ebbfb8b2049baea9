#include "http/backoff.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/text.h"

namespace kw::http {
namespace {

using std::chrono::milliseconds;

// Longer waits are bounded by whoever waits; this keeps the arithmetic within bounds.
constexpr double longest_s = 365.0 * 24 * 3600;

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0)) return {};
  return std::min(number, longest_s * 1000);
}

// "Fri, 31 Dec 1999 23:59:59 GMT".
std::optional<std::chrono::system_clock::time_point> date_in(const std::string& text) {
  tm parts{};
  const char* end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (!end || *end != '\0') return {};
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

milliseconds up_to(milliseconds most, std::mt19937_64& random) {
  return milliseconds(std::uniform_int_distribution<long>(0, std::max<long>(most.count(), 0))(random));
}

}  // namespace

milliseconds Backoff::next(std::optional<milliseconds> wished, std::mt19937_64& random) {
  unsigned doubled = std::min(tries_++, 20U);
  milliseconds most = std::min(options_.first * (1L << doubled), options_.most);
  if (!wished) return up_to(most, random);
  return std::min(*wished, 4 * options_.most) + up_to(std::min(most, options_.first), random);
}

std::optional<milliseconds> retry_after(const http::Headers& headers,
                                        std::chrono::system_clock::time_point now) {
  if (auto ms = number_in(trim(http::header(headers, "retry-after-ms"))))
    return milliseconds(static_cast<long>(*ms));
  std::string text(trim(http::header(headers, "retry-after")));
  if (text.empty()) return {};
  if (auto seconds = number_in(text)) return milliseconds(static_cast<long>(*seconds * 1000));
  auto date = date_in(text);
  if (!date) return {};
  return std::max(std::chrono::duration_cast<milliseconds>(*date - now), milliseconds(0));
}

}  // namespace kw::http
