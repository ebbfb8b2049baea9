#include "loop/exports/moment.h"

#include <fmt/format.h>

#include "base/core/text.h"

namespace kw::exports {
namespace {

using namespace std::chrono;

// Takes numbers of fixed widths and single characters from the front of a text.
class Digits {
 public:
  explicit Digits(std::string_view text) : rest(text) {}

  std::optional<int> number(std::size_t width) {
    if (rest.size() < width) return {};
    int value = 0;
    for (char c : rest.substr(0, width)) {
      if (!is_digit(c)) return {};
      value = value * 10 + (c - '0');
    }
    rest.remove_prefix(width);
    return value;
  }

  bool one_of(std::string_view characters) {
    if (rest.empty() || !characters.contains(rest.front())) return false;
    last = rest.front();
    rest.remove_prefix(1);
    return true;
  }

  std::string_view rest;
  char last = '\0';  // that one_of() took
};

// Microseconds: the first six digits; further ones are dropped.
std::optional<microseconds> fraction(Digits& text) {
  long value = 0;
  std::size_t digits = 0;
  while (auto digit = text.number(1)) {
    if (digits < 6) value = value * 10 + *digit;
    ++digits;
  }
  for (std::size_t missing = digits; missing < 6; ++missing) value *= 10;
  return digits == 0 ? std::nullopt : std::optional(microseconds(value));
}

// "Z", "+01:30", or nothing.
std::optional<minutes> offset(Digits& text) {
  if (text.rest.empty() || (text.one_of("Zz") && text.rest.empty())) return minutes(0);
  if (!text.one_of("+-")) return {};
  int sign = text.last == '-' ? -1 : 1;
  auto hour = text.number(2);
  text.one_of(":");
  auto minute = text.number(2);
  if (!hour || !minute || *hour > 23 || *minute > 59 || !text.rest.empty()) return {};
  return minutes(sign * (*hour * 60 + *minute));
}

}  // namespace

std::optional<Moment> moment_of(std::string_view text) {
  Digits digits(trim(text));
  auto year_number = digits.number(4);
  if (!year_number || !digits.one_of("-")) return {};
  auto month_number = digits.number(2);
  if (!month_number || !digits.one_of("-")) return {};
  auto day_number = digits.number(2);
  if (!day_number || !digits.one_of("Tt ")) return {};
  auto hour = digits.number(2);
  if (!hour || !digits.one_of(":")) return {};
  auto minute = digits.number(2);
  if (!minute || !digits.one_of(":")) return {};
  auto second = digits.number(2);
  if (!second || *hour > 23 || *minute > 59 || *second > 59) return {};
  std::optional<microseconds> part = microseconds(0);
  if (digits.one_of(".,")) part = fraction(digits);
  auto shift = offset(digits);
  year_month_day date{year(*year_number), month(static_cast<unsigned>(*month_number)),
                      day(static_cast<unsigned>(*day_number))};
  // Years 1 and 9999 could leave the range of other programs by their offset.
  if (!part || !shift || !date.ok() || *year_number < 2 || *year_number > 9998) return {};
  return sys_days(date) + hours(*hour) + minutes(*minute) + seconds(*second) + *part - *shift;
}

std::string to_text(Moment moment) {
  auto date = floor<days>(moment);
  year_month_day parts(date);
  hh_mm_ss time(moment - date);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(parts.year()),
                     static_cast<unsigned>(parts.month()), static_cast<unsigned>(parts.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

}  // namespace kw::exports
