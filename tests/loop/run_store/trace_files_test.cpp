#include "loop/run_store/trace_files.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <filesystem>

#include "base/core/files.h"
#include "base/core/json.h"
#include "loop/run_store/run_reader.h"
#include "loop/run_store/training_files.h"
#include "store_world.h"

namespace kw::store {
namespace {

boost::json::array list(const std::string& path) {
  return parse_json(*read_file(path))->as_array();
}

Trace failed(const std::string& uuid) {
  Trace t = trace(uuid);
  t.rounds.push_back({{turn(1, "a", judged(Status::failed))}, StopReason::max_turns_reached, ""});
  return t;
}

struct TraceFiles : testing::Test, World {
  void SetUp() override { ASSERT_TRUE(open()); }
  std::string output() const { return folder.path("traces.json"); }
  Result<> save(Form form = Form::multi) { return wait(save_traces(*store, output(), form)); }
};

TEST_F(TraceFiles, HoldWhatEndedAndApartWhatFailed) {
  keep(three_turns());
  keep(failed("8"));
  Trace open = trace("9");
  open.rounds.push_back({{turn(1, "a")}, {}, ""});
  keep(open);
  Trace unanswered = trace("10");
  unanswered.rounds.push_back({{}, StopReason::generation_failed, "gone"});
  keep(unanswered);
  ASSERT_TRUE(save());
  boost::json::array all = list(output());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].at("sample_key"), "kernelbook_7");
  boost::json::array bad = list(folder.path("traces_failed.json"));
  ASSERT_EQ(bad.size(), 2U);
  EXPECT_EQ(bad[1].at("error"), "gone");
}

TEST_F(TraceFiles, OfARunWithoutTracesAreEmptyLists) {
  ASSERT_TRUE(save());
  EXPECT_TRUE(list(output()).empty());
}

TEST_F(TraceFiles, AreInTheFormThatIsAskedFor) {
  keep(three_turns());
  ASSERT_TRUE(save(Form::single));
  EXPECT_TRUE(list(output())[0].as_object().contains("thinking"));
}

TEST_F(TraceFiles, AreToldFromTheFilesOfOtherPrograms) {
  EXPECT_EQ(content_of(output()), FileContent::none);
  ASSERT_TRUE(save());
  EXPECT_EQ(content_of(output()), FileContent::none) << "an empty list";
  keep(three_turns());
  for (Form form : {Form::single, Form::multi}) {
    ASSERT_TRUE(wait(save_traces(*store, output(), form)));
    EXPECT_EQ(content_of(output()), FileContent::traces);
  }
  EXPECT_EQ(content_of(folder.write("notes", "my notes\n")), FileContent::foreign);
  EXPECT_EQ(content_of(folder.write("recorded", R"([{"sample_key": "a", "pytorch_code": "", "turns": []}])")),
            FileContent::foreign);
  auto reader = open_run(output());
  ASSERT_TRUE(reader);
  TrainingOptions options;
  options.filter = Filter::none;
  ASSERT_TRUE(write_training(**reader, folder.path("rows.jsonl"), options));
  EXPECT_EQ(content_of(folder.path("rows.jsonl")), FileContent::rows);
}

TEST_F(TraceFiles, LeaveNoNeighbourBehind) {
  ASSERT_TRUE(save());
  std::size_t files = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder.path())) files += each.is_regular_file();
  EXPECT_EQ(files, 2U);
}

TEST_F(TraceFiles, ThatCannotBeWrittenAreNamed) {
  auto saved = wait(save_traces(*store, "/proc/none/traces.json", Form::multi));
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().what.find("/proc/none/traces.json"), std::string::npos);
}

TEST_F(TraceFiles, AreSharedByCallsThatWait) {
  keep(three_turns());
  int saved = 0;
  for (int i = 0; i < 50; ++i)
    boost::asio::co_spawn(loop, save_traces(*store, output(), Form::multi),
                          [&](std::exception_ptr, Result<> result) { saved += result.has_value(); });
  loop.restart();
  loop.run();
  EXPECT_EQ(saved, 50);
  EXPECT_EQ(list(output()).size(), 1U);
}

TEST_F(TraceFiles, AreWrittenWhileTheRunGoesOn) {
  std::size_t kept = 0;
  auto count = [&](std::exception_ptr, Result<> result) { kept += result.has_value(); };
  Trace t = three_turns();
  keep(t);
  for (std::size_t i = 4; i < 200; ++i) {
    boost::asio::co_spawn(loop, store->save(key_of(t), 1, turn(i, "a")), count);
    if (i % 20 == 0) boost::asio::co_spawn(loop, save_traces(*store, output(), Form::multi), count);
  }
  loop.restart();
  loop.run();
  EXPECT_EQ(kept, 196U + 9U);
  EXPECT_LE(list(output()).size(), 1U);
}

TEST_F(TraceFiles, AreARunAgain) {
  keep(three_turns());
  keep(failed("8"));
  ASSERT_TRUE(save());
  auto reader = open_run(output());
  ASSERT_TRUE(reader);
  std::string copy = folder.path("copy.json");
  auto written = write_traces(**reader, copy, Form::multi);
  ASSERT_TRUE(written) << written.error().what;
  EXPECT_EQ(*read_file(copy), *read_file(output()));
}

TEST(JsonTraces, AreReadFromAListAndFromLines) {
  Folder folder;
  std::string one = R"({"sample_key":"a{","pytorch_code":"}\"\\"})";
  for (const std::string& text : {"[" + one + ",\n" + one + "]", one + "\n" + one + "\n"}) {
    auto reader = read_json_traces(folder.write("t.json", text));
    ASSERT_TRUE(reader);
    EXPECT_EQ((**(*reader)->next()).task.reference_code, "}\"\\");
    EXPECT_TRUE(*(*reader)->next());
    EXPECT_FALSE(*(*reader)->next());
  }
}

TEST(JsonTraces, AFileThatEndsTooEarlyIsAnError) {
  Folder folder;
  auto reader = read_json_traces(folder.write("t.json", R"([{"sample_key":"a)"));
  auto next = (*reader)->next();
  ASSERT_FALSE(next);
  EXPECT_NE(next.error().what.find("ends inside an object"), std::string::npos);
}

}  // namespace
}  // namespace kw::store
