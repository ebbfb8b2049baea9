// Runs in a report: finished, in use, interrupted, damaged, growing.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sources.h"

namespace kw::report {
namespace {

struct ReportOfARun : testing::Test, store::World {
  void SetUp() override { ASSERT_TRUE(open({{"model", "tiny"}, {"judging", {{"trials", 5}}}})); }

  static Trace unended(const std::string& uuid, std::size_t turns) {
    Trace trace = store::trace(uuid);
    Conversation& round = trace.rounds.emplace_back();
    for (std::size_t i = 1; i <= turns; ++i)
      round.turns.push_back(store::turn(i, "a", store::judged(Status::failed)));
    return trace;
  }

  SourceState state() { return model_of({run()}).index().sources.at(0).state; }
};

TEST_F(ReportOfARun, HasItsSettingsAndVersions) {
  keep(store::three_turns());
  Model model = model_of({run()});
  const boost::json::object& facts = model.index().sources[0].facts;
  EXPECT_EQ(facts.at("model"), "tiny");
  EXPECT_EQ(facts.at("judging.trials"), 5);
  EXPECT_EQ(facts.at("program_version"), "0.1");
  EXPECT_EQ(facts.at("protocol"), "p1");
  EXPECT_EQ(model.index().title, "x.run");
}

TEST_F(ReportOfARun, SaysWhetherAProgramWorksOnIt) {
  keep(store::three_turns());
  EXPECT_EQ(state(), SourceState::unfinished);
  store.reset();
  EXPECT_EQ(state(), SourceState::finished);
}

TEST_F(ReportOfARun, SaysWhetherItWasInterrupted) {
  keep(unended("8", 1));
  store.reset();
  EXPECT_EQ(state(), SourceState::interrupted);
}

TEST_F(ReportOfARun, KeepsNoStandingOfATraceThatHasNotEnded) {
  keep(store::three_turns());
  keep(unended("8", 1));
  Model model = model_of({run()});
  const Rows& rows = model.index().rows;
  EXPECT_TRUE(rows.unfinished.is_null(0));
  EXPECT_EQ(rows.standing[0], "right");
  EXPECT_EQ(rows.unfinished[1], true);
  EXPECT_EQ(rows.standing[1], "unknown");
  EXPECT_EQ(rows.status[1], "failed");
}

TEST_F(ReportOfARun, WithoutTracesHasNoRows) {
  store.reset();
  Model model = model_of({run()});
  EXPECT_EQ(model.index().rows.count, 0U);
  EXPECT_TRUE(model.is_whole());
}

TEST_F(ReportOfARun, ReadsTheLogThatAKilledProgramLeft) {
  keep(store::three_turns());
  // A copy of the files while the program runs is what a power failure leaves.
  std::filesystem::create_directory(folder.path("killed.run"));
  for (const char* name : {"run.db", "run.db-wal"})
    std::filesystem::copy_file(run() + "/" + name, folder.path("killed.run/") + name);
  Model model = model_of({folder.path("killed.run")});
  EXPECT_EQ(model.index().rows.count, 1U);
  EXPECT_TRUE(model.is_whole());
}

TEST_F(ReportOfARun, GrowsByWhatIsNew) {
  keep(store::three_turns());
  keep(unended("8", 1));
  Model model = model_of({run()});
  EXPECT_EQ(model.index().turns.count, 4U);
  EXPECT_FALSE(model.refresh());
  keep(unended("8", 3));
  keep(unended("9", 1));
  ASSERT_TRUE(model.refresh());
  const Index& index = model.index();
  ASSERT_EQ(index.rows.count, 3U);
  EXPECT_EQ(index.turns.count, 7U);
  EXPECT_EQ(index.rows.turns[1], 3);
  EXPECT_EQ(index.turns.row[6], 2);
  EXPECT_EQ(index.rows.key[2], "kernelbook/9~0");
  // The same as a model that has read all at once.
  EXPECT_EQ(to_json(index.rows), to_json(model_of({run()}).index().rows));
  for (std::size_t row = 0; row < 3; ++row) {
    auto detail = model.detail(row);
    ASSERT_TRUE(detail) << detail.error().what;
    EXPECT_EQ((*detail)["key"].as_string(), index.rows.key[row]);
  }
}

TEST_F(ReportOfARun, ReadsTheOtherTracesOfADamagedRow) {
  keep(store::three_turns());
  keep(unended("8", 1));
  store.reset();
  {
    SQLite::Database database(run() + "/run.db", SQLite::OPEN_READWRITE);
    database.exec("UPDATE turns SET verdict = '{broken' WHERE trace = 1 AND turn = 2");
  }
  Model model = model_of({run()});
  EXPECT_EQ(model.index().rows.count, 1U);
  EXPECT_EQ(model.index().rows.key[0], "kernelbook/8~0");
  EXPECT_FALSE(model.is_whole());
}

TEST_F(ReportOfARun, SurvivesADatabaseThatIsNone) {
  store.reset();
  for (std::string text :
       {std::string(), std::string("garbage"), std::string("SQLite format 3\0cut off", 24)}) {
    std::filesystem::create_directories(folder.path("bad.run"));
    std::ofstream(folder.path("bad.run/run.db"), std::ios::binary) << text;
    Model model = model_of({folder.path("bad.run")});
    EXPECT_EQ(model.index().rows.count, 0U);
    EXPECT_FALSE(model.is_whole()) << text;
  }
}

TEST_F(ReportOfARun, SurvivesATruncatedDatabase) {
  for (int i = 0; i < 20; ++i) keep(unended(std::to_string(i), 2));
  store.reset();
  std::string bytes = *read_file(run() + "/run.db");
  std::filesystem::create_directories(folder.path("cut.run"));
  for (std::size_t kept : {bytes.size() / 8, bytes.size() / 2, bytes.size() - 5000}) {
    std::ofstream(folder.path("cut.run/run.db"), std::ios::binary) << bytes.substr(0, kept);
    Model model({folder.path("cut.run")}, {});
    EXPECT_TRUE(model.read());
    EXPECT_FALSE(model.is_whole()) << kept;
  }
}

}  // namespace
}  // namespace kw::report
