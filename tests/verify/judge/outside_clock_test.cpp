// Which samples are believed: those of the device's events, or those of the host's clocks.
#include "verify/judge/outside_clock.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace kw::verify {
namespace {

// Of a reference of 16 us, by a wait of 10 us more than its floor.
SampleClocks reference_of(double device_ms) {
  return {.device_ms = std::vector(12, device_ms),
          .host_ms = std::vector(12, 0.016),
          .wait_ms = std::vector(12, 0.026),
          .alone = true};
}

TEST(Believed, ATimeThatIsImpossibleRefutesNoReference) {
  SampleClocks clocks = reference_of(0.016);
  clocks.host_ms.assign(12, 0);
  clocks.marked_ms.assign(12, 0);
  EXPECT_EQ(believe(clocks, Side::reference).finding, "");
}

TEST(Believed, TheWholeWaitLimitsAReferenceWhoseClocksAreImpossible) {
  SampleClocks clocks = reference_of(0.5);
  clocks.host_ms.assign(12, 0);
  const Believed believed = believe(clocks, Side::reference);
  EXPECT_NE(believed.finding, "");
  EXPECT_EQ(believed.samples_ms, clocks.wait_ms);
}

TEST(Believed, AFewLateMarksMakeNoReferenceFaster) {
  SampleClocks clocks = reference_of(0.016);
  clocks.marked_ms.assign(12, 0.016);
  for (const std::size_t late : {0U, 5U, 7U}) clocks.marked_ms[late] = 0.002;
  EXPECT_EQ(believe(clocks, Side::reference).finding, "");
}

TEST(Believed, AFewSlowCallsMakeNoReferenceSlow) {
  SampleClocks clocks = reference_of(0.5);
  clocks.marked_ms.assign(12, 0.016);
  for (const std::size_t slow : {1U, 4U, 9U}) clocks.marked_ms[slow] = 0.5;
  EXPECT_NE(believe(clocks, Side::reference).finding, "");
}

TEST(Believed, MarksThatAgreeOutweighTheWaitOfAReference) {
  SampleClocks clocks = reference_of(0.016);
  clocks.host_ms.assign(12, 0.003);
  clocks.marked_ms.assign(12, 0.016);
  EXPECT_EQ(believe(clocks, Side::reference).finding, "");
  clocks.alone = false;
  EXPECT_NE(believe(clocks, Side::reference).finding, "");
}

}  // namespace
}  // namespace kw::verify
