#include "loop/exports/moment.h"

#include <gtest/gtest.h>

namespace kw::exports {
namespace {

std::string read(std::string_view text) {
  auto moment = moment_of(text);
  return moment ? to_text(*moment) : "none";
}

TEST(Moments, AreWrittenInUtc) {
  EXPECT_EQ(read("2026-01-02T03:04:05.000006Z"), "2026-01-02T03:04:05.000006Z");
  EXPECT_EQ(read("2026-01-02T03:04:05"), "2026-01-02T03:04:05.000000Z");
  EXPECT_EQ(read("2026-01-02 03:04:05.5+01:30"), "2026-01-02T01:34:05.500000Z");
  EXPECT_EQ(read("2026-03-01T00:00:00.1234567-0100"), "2026-03-01T01:00:00.123456Z");
}

TEST(Moments, OtherTextIsNone) {
  for (const char* text :
       {"", "yesterday", "2026-02-30T00:00:00", "2026-01-02T24:00:00", "2026-01-02T03:04:05x",
        "2026-01-02T03:04:05.", "2026-01-02", "0001-01-01T00:00:00", "2026-01-02T03:04:05+9",
        "2026-01-02T03:04:05+01:00Z", "2026-13-01T00:00:00"})
    EXPECT_EQ(read(text), "none") << text;
}

}  // namespace
}  // namespace kw::exports
