#include "report/model/recognise.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sources.h"

namespace kw::report {
namespace {

struct Recognised : testing::Test, Sources {
  std::vector<std::string> kinds(const std::string& path) {
    auto found = recognise_inputs(path);
    std::vector<std::string> words;
    if (!found) return words;
    for (const Found& each : *found) words.emplace_back(to_string(each.kind));
    return words;
  }
};

TEST_F(Recognised, ByContent) {
  EXPECT_EQ(kinds(traces({store::three_turns()}, "a.json")), std::vector<std::string>{"traces"});
  EXPECT_EQ(kinds(verdicts({verdict("v")}, "b.jsonl")), std::vector<std::string>{"verdicts"});
  EXPECT_EQ(kinds(write("c.json", R"({"schema": "kernelwright.score/1"})")),
            std::vector<std::string>{"score"});
  EXPECT_EQ(kinds(write("d.jsonl", R"({"prompt": "p", "completion": "c"})")),
            std::vector<std::string>{"dataset"});
}

TEST_F(Recognised, AnEmptyListAsNoTraces) {
  Model model = model_of({write("none.json", "[]\n")});
  EXPECT_EQ(model.index().rows.count, 0U);
  EXPECT_TRUE(model.is_whole());
}

TEST_F(Recognised, NoPipeForWhoseWriterItWouldWait) {
  std::string pipe = folder.path("pipe.json");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(recognise_inputs(pipe));
  for (const char* name : {"run/run.db", "set/ANALYSIS.json", "set/fim.jsonl"}) {
    std::string inner = folder.path(name);
    std::filesystem::create_directories(std::filesystem::path(inner).parent_path());
    ASSERT_EQ(::mkfifo(inner.c_str(), 0600), 0);
    EXPECT_FALSE(recognise_inputs(std::filesystem::path(inner).parent_path())) << name;
  }
}

TEST_F(Recognised, ResultsOfKernelBench) {
  std::string file = write("runs/eval_results.json",
                           R"({"19": [{"sample_id": 0, "compiled": true, "correctness": true, "metadata": {},
                               "runtime": 1.5, "runtime_stats": {"mean": 1.5}}]})");
  Model model = model_of({file});
  EXPECT_EQ(model.index().sources[0].kind, SourceKind::verdicts);
  ASSERT_EQ(model.index().rows.count, 1U);
  EXPECT_EQ(model.index().rows.status[0], "correct");
  EXPECT_TRUE(model.index().rows.protocol.is_null(0));
  auto detail = model.detail(std::size_t{0});
  ASSERT_TRUE(detail);
  EXPECT_EQ(detail->at("verdict").at("status"), "correct");
}

TEST_F(Recognised, AFolderByWhatItContains) {
  traces({store::three_turns()}, "all/x.json");
  write("all/x.run/run.db", "");
  verdicts({verdict("v")}, "all/y.jsonl");
  write("all/set/ANALYSIS.json", "{}");
  write("all/notes.json", R"({"a": 1})");
  // x.json is an export of x.run.
  EXPECT_EQ(kinds(folder.path("all")), (std::vector<std::string>{"dataset", "run", "verdicts"}));
}

TEST_F(Recognised, NothingElse) {
  write("empty/x.txt", "");
  for (const std::string& path :
       {folder.path("none"), folder.path("empty"), write("e.json", ""), write("f.json", "{\"a\": 1}"),
        write("g.json", "garbage"), write("h.json", std::string(100, '\xFF')), std::string("/dev/null")}) {
    auto found = recognise_inputs(path);
    EXPECT_FALSE(found) << path;
    EXPECT_FALSE(found.error().what.empty());
  }
}

TEST_F(Recognised, AnUnreadablePathIsASourceWithAMessage) {
  Model model = model_of({folder.path("none"), traces({store::three_turns()})});
  ASSERT_EQ(model.index().sources.size(), 2U);
  EXPECT_EQ(model.index().sources[0].state, SourceState::damaged);
  EXPECT_EQ(model.index().rows.count, 1U);
  EXPECT_EQ(model.index().rows.source[0], 1);
}

}  // namespace
}  // namespace kw::report
