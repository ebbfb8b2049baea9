#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harvest/holes.h"
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

// Each ends, however deep or wide it is; what comes out is of no interest.
TEST(Hostile, DeepAndWideSourcesEnd) {
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
    auto outcome = parsed(text, path);
    if (!outcome.file) continue;
    for (const corpus::Unit& unit : link({outcome.file}))
      hole_spans(unit.region, {0, unit.region.size()}, language_of(path));
  }
}

}  // namespace
}  // namespace kw::harvest
