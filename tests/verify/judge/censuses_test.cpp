// The process that makes a census, and those who wait for it.
#include "verify/judge/censuses.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <filesystem>
#include <fstream>

#include "base/core/files.h"
#include "support/run_task.h"
#include "verify/census/census_file.h"

namespace kw::verify {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ACensus : public ::testing::Test {
 protected:
  ACensus() { fs::create_directories(folder_); }
  ~ACensus() override { fs::remove_all(folder_); }

  // A maker that notes each of its runs.
  fs::path maker(const std::string& commands) {
    const fs::path path = folder_ / "maker";
    std::ofstream(path) << fmt::format("#!/bin/sh\necho \"$@\" >> {}/runs\n{}\n", folder_.string(), commands);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  std::string that_prints(const census::Census& census) const {
    EXPECT_TRUE(write_file(folder_ / "bytes", census::to_bytes(census, std::string(64, 'a'))));
    return fmt::format("cat {}/bytes", folder_.string());
  }
  std::string runs() const { return read_file(folder_ / "runs").value_or(""); }

  Censuses::Answer asked(Censuses& censuses, std::vector<std::string> folders = {"/a", "/b"}) {
    return test::run_task(loop_, censuses.of(90, std::move(folders), stop_));
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
  async::Loop loop_;
  async::Stop stop_{loop_};
};

TEST_F(ACensus, IsMadeOnceForAllWhoWait) {
  using namespace boost::asio::experimental::awaitable_operators;
  Censuses censuses(loop_, maker(that_prints(census::Census({7}))));
  auto both = [](Censuses* of, async::Stop* stop) -> async::Task<bool> {
    auto [one, two] = co_await (of->of(90, {"/a", "/b"}, *stop) && of->of(90, {"/a", "/b"}, *stop));
    co_return one&& two && *one == *two && (*one)->has(7);
  };
  EXPECT_TRUE(test::run_task(loop_, both(&censuses, &stop_)));
  EXPECT_TRUE(asked(censuses));
  EXPECT_EQ(runs(), "--census 90 /a /b\n");
}

TEST_F(ACensus, ThatCannotBeMadeSaysWhyAndIsTriedAgain) {
  Censuses censuses(loop_, maker("echo 'libone.so: gone' >&2; exit 1"));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(asked(censuses).error().what, "libone.so: gone");
  EXPECT_EQ(runs(), "--census 90 /a /b\n--census 90 /a /b\n");
  maker(that_prints(census::Census({7})));
  EXPECT_TRUE(asked(censuses));
}

TEST_F(ACensus, OfAMakerThatDiesOrWritesNonsenseIsAnError) {
  for (const char* commands : {"kill -9 $$", "exit 3", "echo nonsense", ""}) {
    Censuses censuses(loop_, maker(commands));
    EXPECT_FALSE(asked(censuses)) << commands;
  }
}

TEST_F(ACensus, NeedsAMakerAndFolders) {
  Censuses censuses(loop_, "/no/maker");
  EXPECT_FALSE(asked(censuses));
  EXPECT_THAT(asked(censuses, {}).error().what, HasSubstr("no libraries for a GPU"));
}

TEST_F(ACensus, IsNotWaitedForAfterAStopAndItsMakerEndsWithIt) {
  auto began = async::SteadyClock::now();
  {
    Censuses censuses(loop_, maker("exec sleep 60"));
    stop_.request("the client left");
    EXPECT_FALSE(asked(censuses));
  }
  loop_.restart();
  loop_.run_for(10s);
  EXPECT_TRUE(loop_.stopped());
  EXPECT_LT(async::ms_since(began), 10'000);
}

}  // namespace
}  // namespace kw::verify
