#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "dataset/extract/harvest.h"
#include "harvest_world.h"

namespace kw::harvest {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

ParseOutcome parsed(std::string bytes, const std::string& path) {
  corpus::SourceFile file;
  file.path = path;
  file.bytes = std::move(bytes);
  return parse(std::move(file), language_of(path), {});
}

TEST(Hostile, BytesThatAreNoUtf8AreRefused) {
  EXPECT_EQ(parsed("x = '\xff'", "a.py").reason, "not UTF-8");
}

TEST(Hostile, BrokenCodeIsCounted) {
  EXPECT_TRUE(parsed("def f(:\n", "a.py").has_error);
}

// A deep or wide source is parsed or refused with a reason, and its holes lie in its code.
TEST(Hostile, DeepAndWideSourcesAreParsedOrRefusedInTime) {
  std::string head = "import triton\n";
  const std::vector<std::pair<std::string, std::string>> baits = {
      {"a.py", head + "x = " + repeated("(", 20'000)},
      {"a.py", head + "x = a" + repeated(".b", 50'000) + "\n"},
      {"a.py", head + "x = a" + repeated("().b", 20'000) + "\n"},
      {"a.py", head + "x = " + repeated("lambda a: ", 5'000) + "b\n"},
      {"a.py", head + repeated("@triton.jit\n", 3'000) + "def f(x): pass\n"},
      {"a.py", head + "k[g](" + repeated("k[g](", 3'000) + "x" + repeated(")", 3'001) + "\n"},
      {"a.py", head + repeated("x = x + y\n", 20'000)},
      {"a.py", head + repeated("from .a import *\n", 5'000) + "@triton.jit\ndef f(x):\n    y\n"},
      {"a.cu", "__global__ void f() " + repeated("{", 20'000)},
      {"a.cu", repeated("namespace a {", 5'000) + "__device__ int f() { return 1; }"},
      {"a.cu", repeated("template <int N> ", 5'000) + "__global__ void f() {}"},
      {"a.cu", repeated("#define A B\n", 10'000) + "__global__ void f() { A; }"},
      {"a.cu", "__global__ void f(int " + repeated("*", 20'000) + "x) {}"},
  };
  for (const auto& [path, text] : baits) {
    const std::string shown = text.substr(0, 40);
    const auto started = std::chrono::steady_clock::now();
    auto outcome = parsed(text, path);
    EXPECT_EQ(outcome.file == nullptr, !outcome.reason.empty()) << shown;
    if (outcome.file)
      for (const corpus::Unit& unit : link({outcome.file}))
        for (const HoleSpan& hole : hole_spans(unit.region, {0, unit.region.size()}, language_of(path)))
          EXPECT_LE(hole.middle.end, unit.region.size()) << shown;
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30)) << shown;
  }
}

}  // namespace
}  // namespace kw::harvest
