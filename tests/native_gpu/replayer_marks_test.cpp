// Marks: what the host sees of the two words that a stream writes. Threads of a test write them here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <thread>

#include "fake_driver.h"
#include "marks.h"

namespace kw::replayer {
namespace {

using namespace std::chrono_literals;

constexpr auto work = 2ms;
constexpr auto limit = 200ms;
constexpr int tries = 200;  // a busy machine lets the watching thread wait just when a word comes

class MarksTest : public ::testing::Test {
 protected:
  MarksTest() { driver.table().cuStreamCreate(&stream, 0); }

  fake::FakeDriver driver;
  Marks marks = *Marks::make(driver.table());
  CUstream stream = nullptr;
};

TEST_F(MarksTest, GiveTheTimeBetweenThemAndNoLess) {
  const std::uint32_t closed = 0;  // keeps the stream at work
  driver.table().cuStreamWaitValue32(stream, std::bit_cast<CUdeviceptr>(&closed), 1, 0);
  std::optional<double> seen;
  for (int i = 0; i < tries && !seen; ++i) {
    marks.begin(stream);
    std::jthread device([&] {
      std::this_thread::sleep_for(20us);
      marks.first().store(marks.ticket());
      std::this_thread::sleep_for(work);
      marks.second().store(marks.ticket());
    });
    seen = marks.watch(stream, limit);
  }
  ASSERT_TRUE(seen);
  EXPECT_GE(*seen, 2.0);
}

TEST_F(MarksTest, AreNotSeenWhereTheFirstOneIsThereAlready) {
  marks.begin(stream);
  marks.first().store(marks.ticket());
  marks.second().store(marks.ticket());
  EXPECT_FALSE(marks.watch(stream, limit));
}

TEST_F(MarksTest, AreNotSeenWhereOneDoesNotCome) {
  marks.begin(stream);
  marks.end(stream);
  EXPECT_FALSE(marks.watch(stream, 1ms));
}

TEST_F(MarksTest, OfAnEarlierSampleAreNone) {
  marks.begin(stream);
  marks.first().store(marks.ticket());
  marks.second().store(marks.ticket());
  marks.begin(stream);
  EXPECT_FALSE(marks.watch(stream, 1ms));
}

TEST_F(MarksTest, AreWrittenByTheStreamInItsTurn) {
  marks.begin(stream);
  marks.end(stream);
  EXPECT_NE(marks.second().load(), marks.ticket());
  driver.table().cuStreamSynchronize(stream);
  EXPECT_EQ(marks.first().load(), marks.ticket());
  EXPECT_EQ(marks.second().load(), marks.ticket());
}

}  // namespace
}  // namespace kw::replayer
