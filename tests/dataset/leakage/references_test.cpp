#include <gmock/gmock.h>

#include <filesystem>

#include "base/core/files.h"
#include "dataset/leakage/leak.h"

namespace kw::leak {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class References : public testing::Test {
 protected:
  References() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~References() override { fs::remove_all(folder_); }

  void put(const std::string& path, std::string_view text) {
    fs::create_directories((folder_ / path).parent_path());
    ASSERT_TRUE(write_file(folder_ / path, text));
  }

  // "against|row|text"
  std::vector<std::string> open(const std::string& path = "") {
    auto references = open_references((folder_ / path).string());
    if (!references) return {"error: " + references.error().what};
    std::vector<std::string> all;
    for (const Reference& it : *references) all.push_back(it.against + "|" + it.row + "|" + it.text);
    return all;
  }

  fs::path folder_ =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(References, AKernelBenchCheckoutGivesItsProblemsAlone) {
  put("KernelBench/level1/19_ReLU.py", "relu");
  put("KernelBench/level2/1_Conv.py", "conv");
  put("src/eval.py", "eval");
  put("KernelBench/level1/notes.py", "notes");
  EXPECT_THAT(open(), ElementsAre("KernelBench|level1/19_ReLU.py|relu", "KernelBench|level2/1_Conv.py|conv"));
}

TEST_F(References, ATritonBenchAnswerAndItsTestsAreTwo) {
  put("data/TritonBench_G_v1/add.py", "answer\n################\ntests\n");
  EXPECT_THAT(open(), UnorderedElementsAre(HasSubstr("TritonBench_G|add.py (tests)|"),
                                           "TritonBench_G|add.py|answer"));
}

TEST_F(References, TritonBenchRowsAreReadWhateverTheirEnding) {
  put("data/TritonBench_T_v1.jsonl",
      R"json([{"file": "abs.py", "torch_code": "torch.abs(x)", "difficulty": 1}])json");
  EXPECT_THAT(open(), ElementsAre("TritonBench_T|TritonBench_T_v1.jsonl:abs.py|torch.abs(x)"));
}

TEST_F(References, TheSameTextComesOnce) {
  put("data/TritonBench_G_v1/add.py", "answer\n");
  put("data/TritonBench_G_v1.json", R"([{"file": "add.py", "output": "answer"}])");
  EXPECT_EQ(open().size(), 1U);
}

TEST_F(References, AnyOtherFolderGivesItsSources) {
  put("mine/a.py", "a");
  put("mine/deep/b.cu", "b");
  put("mine/readme.md", "c");
  put("mine/.git/d.py", "d");
  EXPECT_THAT(open("mine"), ElementsAre("mine|a.py|a", "mine|deep/b.cu|b"));
}

TEST_F(References, LinksAreNotFollowed) {
  put("mine/a.py", "a");
  fs::create_symlink("/", folder_ / "mine/root");
  fs::create_symlink(folder_ / "mine/a.py", folder_ / "mine/b.py");
  EXPECT_THAT(open("mine"), ElementsAre("mine|a.py|a"));
}

TEST_F(References, RowsOfPromptAndCompletionAreOneTextEach) {
  put("test.jsonl",
      "{\"prompt\": \"p\", \"completion\": \"c\"}\n{\"prompt\": [{\"role\": \"user\", \"content\": \"q\"}], "
      "\"completion\": \"d\", \"id\": \"second\"}\n");
  EXPECT_THAT(open("test.jsonl"), ElementsAre("test.jsonl|row 1|p\nc", "test.jsonl|second|q\nd"));
}

TEST_F(References, ARowWithTwoPiecesOfCodeGivesBoth) {
  put("book.json", R"([{"uuid": 7, "python_code": "p", "triton_code": "t"}])");
  EXPECT_THAT(open("book.json"), ElementsAre("book.json|7 (python_code)|p", "book.json|7 (triton_code)|t"));
}

TEST_F(References, CsvFieldsMayHoldNewlines) {
  put("rows.csv", "id,code\r\nx,\"a\nb\"\r\n");
  EXPECT_THAT(open("rows.csv"), ElementsAre("rows.csv|x|a\nb"));
}

TEST_F(References, ABadRowIsNamed) {
  put("rows.jsonl", "{\"code\": \"a\"}\nnot json\n");
  EXPECT_THAT(open("rows.jsonl"), ElementsAre(HasSubstr("rows.jsonl, row 2")));
}

TEST_F(References, ParquetWithoutAHelperIsAnError) {
  put("rows.parquet", "PAR1");
  EXPECT_THAT(open("rows.parquet"), ElementsAre(HasSubstr("Parquet needs")));
}

TEST_F(References, NothingToCompareWithIsAnError) {
  put("mine/readme.md", "c");
  EXPECT_THAT(open("mine"), ElementsAre(HasSubstr("no text to compare with")));
}

TEST_F(References, AMissingPathIsAnError) {
  EXPECT_THAT(open("none.jsonl"), ElementsAre(HasSubstr("none.jsonl")));
}

TEST_F(References, KernelBookIsKnownByItsColumns) {
  constexpr std::string_view row =
      R"({"entry_point": "Add", "python_code": "module", "triton_code": "kernel", "uuid": 7})";
  put("rows/dataset_permissive.jsonl", row);
  EXPECT_THAT(open(), UnorderedElementsAre(HasSubstr("KernelBook|"), HasSubstr("KernelBook|")));
  EXPECT_THAT(open("rows/dataset_permissive.jsonl"),
              UnorderedElementsAre(HasSubstr("KernelBook|"), HasSubstr("KernelBook|")));
}

TEST_F(References, OtherRowsHaveTheNameOfTheirFile) {
  put("own.jsonl", R"({"python_code": "module", "triton_code": "kernel"})");
  EXPECT_THAT(open("own.jsonl"), UnorderedElementsAre(HasSubstr("own.jsonl|"), HasSubstr("own.jsonl|")));
}

TEST(Benchmarks, TheHashIsOfTheTextsAndNotOfTheirOrder) {
  const Reference a{"bench", "1", "one"};
  const Reference b{"bench", "2", "two"};
  const auto ab = benchmarks_of({a, b});
  const auto ba = benchmarks_of({b, a});
  ASSERT_EQ(ab.size(), 1U);
  EXPECT_EQ(ab[0].name, "bench");
  EXPECT_EQ(ab[0].texts, 2U);
  EXPECT_EQ(ab[0].sha256, ba[0].sha256);
  EXPECT_NE(ab[0].sha256, benchmarks_of({a, {"bench", "2", "TWO"}})[0].sha256);
  EXPECT_NE(ab[0].sha256, benchmarks_of({a})[0].sha256);
  EXPECT_EQ(benchmarks_of({a, {"other", "1", "one"}}).size(), 2U);
}

}  // namespace
}  // namespace kw::leak
