#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "loop/run_store/run_reader.h"
#include "store_world.h"
#include "types/options.h"

namespace kw::store {
namespace {

namespace fs = std::filesystem;

bool mentions(const Result<>& result, const std::string& words) {
  return !result && (result.error().what + " " + result.error().remedy).find(words) != std::string::npos;
}

TEST(Opening, TheSameSettingsGoOn) {
  World world;
  ASSERT_TRUE(world.open({{"model", "a"}, {"turns", 4}}));
  world.keep(three_turns());
  ASSERT_TRUE(world.open({{"turns", 4}, {"model", "a"}}));
  EXPECT_TRUE(*world.wait(world.store->find({"kernelbook/7", 0})));
}

TEST(Opening, OtherSettingsAreNamedOneByOne) {
  World world;
  ASSERT_TRUE(world.open({{"model", "a"}, {"old", true}, {"sampling", {{"top_p", 0.9}, {"seed", 1}}}}));
  auto opened = world.open({{"model", "b"}, {"sampling", {{"top_p", 0.5}, {"seed", 1}}}});
  ASSERT_FALSE(opened);
  EXPECT_TRUE(mentions(opened, "model: \"a\" → \"b\""));
  EXPECT_TRUE(mentions(opened, "old: true → not set"));
  EXPECT_TRUE(mentions(opened, "sampling.top_p: 9E-1 → 5E-1") ||
              mentions(opened, "sampling.top_p: 0.9 → 0.5"));
  EXPECT_FALSE(mentions(opened, "seed"));
  EXPECT_TRUE(mentions(opened, "--fresh"));
}

TEST(Opening, FreshKeepsTheOldRunAside) {
  World world;
  ASSERT_TRUE(world.open({{"model", "a"}}));
  world.keep(three_turns());
  ASSERT_TRUE(world.open({{"model", "b"}}, true));
  EXPECT_FALSE(*world.wait(world.store->find({"kernelbook/7", 0})));
  auto old = RunReader::open(world.run() + "/run.db.1");
  ASSERT_TRUE(old) << old.error().what;
  EXPECT_EQ((*old)->summary()->turns, 3U);
}

TEST(Opening, AFreshRunThatFailsSaysWhereTheOldOneIs) {
  World world;
  ASSERT_TRUE(world.open({{"model", "a"}}));
  world.store.reset();
  // A folder of this name stays where it is, and no database can be opened there.
  fs::create_directories(world.run() + "/run.db-journal/x");
  auto opened = world.open({{"model", "b"}}, true);
  ASSERT_FALSE(opened);
  EXPECT_TRUE(mentions(opened, "was renamed to " + world.run() + "/run.db.1")) << opened.error().what;
}

TEST(Opening, ASecondProgramIsToldWhoHasIt) {
  World world;
  ASSERT_TRUE(world.open());
  pid_t child = ::fork();
  if (child == 0) {
    async::Loop loop;
    auto second = RunStore::open(loop, world.run(), {}, false);
    bool named = !second && second.error().what.find("in use by process " + std::to_string(::getppid())) !=
                                std::string::npos;
    ::_exit(named ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Opening, TheLockEndsWithItsHolder) {
  World world;
  ASSERT_TRUE(world.open());
  ASSERT_FALSE(RunStore::open(world.loop, world.run(), {}, false));
  world.store.reset();
  EXPECT_TRUE(RunStore::open(world.loop, world.run(), {}, false));
}

TEST(Opening, AFileThatIsNoDatabaseIsLeftAsItIs) {
  World world;
  world.folder.write("x.run/run.db", "a letter to a friend, long enough to have sixteen bytes");
  EXPECT_TRUE(mentions(world.open(), "not a database"));
  EXPECT_EQ(fs::file_size(world.run() + "/run.db"), 55U);
}

TEST(Opening, AnotherProgramsDatabaseIsRefused) {
  World world;
  ASSERT_TRUE(world.open());
  world.store.reset();
  std::fstream file(world.run() + "/run.db", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(68).write("\x01\x02\x03\x04", 4);  // application_id
  file.close();
  EXPECT_TRUE(mentions(world.open(), "another program"));
}

// In the form of a version that identified verdicts by the names of task and candidate.
void into_format_1(const std::string& path) {
  SQLite::Database database(path, SQLite::OPEN_READWRITE);
  database.exec(
      "DROP INDEX known_verdicts; ALTER TABLE turns DROP COLUMN work;"
      " CREATE INDEX known_verdicts ON turns (candidate_sha256, protocol) WHERE infrastructure = 0;"
      " PRAGMA user_version = 1");
}

TEST(Opening, AnOlderFormatsOptionsOfJudgingHaveTheNamesOfToday) {
  World world;
  boost::json::object before{{"trials", 7},           {"timing-trials", 100},  {"timing-precision", 0.01},
                             {"tolerance", "custom"}, {"rtol", 1e-3},          {"atol", 0.02},
                             {"precision", "fp32"},   {"tf32", false},         {"move-weights", false},
                             {"reduce-shapes", true}, {"timeout-ms", 180'000}, {"multi-turn", true}};
  ASSERT_TRUE(world.open(before));
  world.store.reset();
  into_format_1(world.run() + "/run.db");
  Settings judging;
  judging.correctness_trials = 7;
  judging.tolerance = {"custom", 1e-3, 0.02};
  judging.move_weights = false;
  boost::json::object today = verdict_settings_json(judging);
  today["multi-turn"] = true;
  auto opened = world.open(today);
  EXPECT_TRUE(opened) << opened.error().what;
}

TEST(Opening, AnOptionThatIsNewerThanTheRunHadItsDefault) {
  World world;
  boost::json::object before = verdict_settings_json(Settings{});
  before.erase("require");
  ASSERT_TRUE(world.open(before));
  world.store.reset();
  Settings judging;
  judging.require = "triton";
  EXPECT_FALSE(world.open(verdict_settings_json(judging)));
  EXPECT_TRUE(world.open(verdict_settings_json(Settings{})));
}

TEST(Opening, AnOlderFormatIsReadAndGoneOnWith) {
  World world;
  ASSERT_TRUE(world.open());
  world.keep(three_turns());
  world.store.reset();
  into_format_1(world.run() + "/run.db");
  {
    auto reader = RunReader::open(world.run());
    ASSERT_TRUE(reader) << reader.error().what;
    EXPECT_EQ((*reader)->summary()->turns, 3U);
  }
  for (const char* id : {"8", "9"}) {
    auto opened = world.open();
    ASSERT_TRUE(opened) << opened.error().what;
    Trace t = trace(id);
    Verdict verdict = judged(Status::correct, 1.5);
    verdict.work = id;
    t.rounds.push_back({{turn(1, "b", verdict)}, {}, ""});
    world.keep(t);
    EXPECT_EQ((*world.wait(world.store->known_verdict(id)))->speedup, 1.5);
  }
  EXPECT_EQ((*world.wait(world.store->find({"kernelbook/7", 0})))->rounds[0].turns.size(), 3U);
}

TEST(Opening, ANewerFormatIsRefused) {
  World world;
  ASSERT_TRUE(world.open());
  world.store.reset();
  std::fstream file(world.run() + "/run.db", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(60).write("\0\0\0\x63", 4);  // user_version
  file.close();
  EXPECT_TRUE(mentions(world.open(), "newer version (format 99"));
  EXPECT_FALSE(RunReader::open(world.run()));
}

TEST(Opening, ADamagedFileIsSaidToBeDamaged) {
  World world;
  ASSERT_TRUE(world.open());
  for (int i = 0; i < 20; ++i) world.keep(trace(std::to_string(i)));
  world.store.reset();
  std::fstream file(world.run() + "/run.db", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096 * 2).write(std::string(4096 * 4, '\x5a').data(), 4096 * 4);
  file.close();
  auto opened = world.open();
  EXPECT_TRUE(mentions(opened, "damaged") || mentions(opened, "malformed")) << (opened ? "opened" : "");
  EXPECT_TRUE(mentions(opened, "--fresh"));
}

TEST(Opening, AFolderThatCannotBeMadeIsNamed) {
  World world;
  world.folder.write("x.run", "a file");
  EXPECT_TRUE(mentions(world.open(), "x.run"));
}

TEST(Opening, TheRunKeepsWhatItWasMadeWith) {
  World world;
  ASSERT_TRUE(world.open({{"model", "a"}}));
  auto info = (*RunReader::open(world.run()))->info();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->settings.at("model"), "a");
  EXPECT_EQ(info->config_toml, "a = 1\n");
  EXPECT_EQ(info->git_revision, "abc");
  EXPECT_EQ(info->created_at.size(), 27U);
}

TEST(Opening, ARunThatIsNotThereIsSaidNotToBe) {
  Folder folder;
  auto reader = open_run(folder.path("none"));
  ASSERT_FALSE(reader);
  EXPECT_NE(reader.error().what.find("none"), std::string::npos);
}

TEST(Opening, ARunIsReadFromAFolderThatCannotBeWritten) {
  World world;
  ASSERT_TRUE(world.open());
  world.keep(three_turns());
  world.store.reset();
  fs::permissions(world.run() + "/run.db", fs::perms::owner_read);
  fs::permissions(world.run(), fs::perms::owner_read | fs::perms::owner_exec);
  auto reader = RunReader::open(world.run());
  EXPECT_TRUE(reader && (*reader)->summary()->turns == 3);
  fs::permissions(world.run(), fs::perms::owner_all);
}

}  // namespace
}  // namespace kw::store
