// The jobs that are equal work: properties over random jobs, from fixed seeds.
#include "verify/api/shared_verifier.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace kw::verify {
namespace {

constexpr int rounds = 2'000;

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
}

// Text of few characters, so that parts of different fields are often equal.
std::string text(Random& random, std::size_t longest = 6) {
  std::string made(below(random, longest + 1), ' ');
  for (char& c : made) c = "ab\n\0"[below(random, 4)];
  return made;
}

struct Shape {
  std::string name;
  std::size_t size = 0;
  auto operator<=>(const Shape&) const = default;
};

std::vector<Shape> shapes(Random& random) {
  std::vector<Shape> made;
  for (const char* name : {"x", "y", "z"})
    if (below(random, 3) > 0) made.push_back({name, below(random, 4)});
  return made;
}

// As JSON, with white space wherever it is insignificant.
std::string written(const std::vector<Shape>& all, Random& random, bool spaced) {
  auto gap = [&] {
    return spaced ? std::string(below(random, 3), " \n\t"[below(random, 3)]) : std::string();
  };
  if (all.empty()) return {};
  std::string json = "{";
  for (const Shape& each : all) {
    if (json.size() > 1) json += gap() + "," + gap();
    json += "\"" + each.name + "\"" + gap() + ":" + gap() + "{\"shape\"" + gap() + ":" + gap() + "[" + gap() +
            std::to_string(each.size) + gap() + "]" + gap() + "}";
  }
  return json + gap() + "}";
}

// The inputs on which a verdict depends.
struct Content {
  std::array<std::string, 4> texts;  // reference, its entry, candidate, its entry
  std::vector<Shape> shapes;
  std::string protocol;
  auto operator<=>(const Content&) const = default;
};

Content content(Random& random) {
  Content made;
  for (std::string& each : made.texts) each = text(random, 2);
  made.shapes = shapes(random);
  made.protocol = text(random, 2);
  return made;
}

Job job_of(const Content& content, Random& random, bool spaced = true) {
  Job job;
  job.id = text(random);
  job.sample_number = below(random, 9);
  job.task.task_id = text(random);
  job.task.name = text(random);
  job.task.source = text(random);
  job.task.licence = text(random);
  job.candidate.kernel_name = text(random);
  job.task.reference_code = content.texts[0];
  job.task.entry_point = content.texts[1];
  job.candidate.code = content.texts[2];
  job.candidate.entry = content.texts[3];
  job.task.input_shapes = written(content.shapes, random, spaced);
  return job;
}

TEST(WorkKey, OfDifferentWorkIsNeverTheSame) {
  Random random(1);
  std::map<std::string, Content> seen;
  for (int i = 0; i < rounds; ++i) {
    Content made = content(random);
    auto [earlier, is_new] = seen.try_emplace(work_key(job_of(made, random), made.protocol), made);
    EXPECT_EQ(earlier->second, made);
  }
  EXPECT_GT(seen.size(), 100U);
}

TEST(WorkKey, OfEqualWorkIsTheSameUnderAnyNamesAndSpacing) {
  Random random(2);
  for (int i = 0; i < rounds; ++i) {
    Content made = content(random);
    std::string key = work_key(job_of(made, random, false), made.protocol);
    EXPECT_EQ(work_key(job_of(made, random), made.protocol), key);
    EXPECT_EQ(key.size(), 64U);
  }
}

TEST(WorkKey, DoesNotMoveWithTheBordersOfItsParts) {
  Random random(3);
  for (int i = 0; i < rounds; ++i) {
    Content made = content(random);
    std::size_t from = below(random, 4);
    std::size_t to = (from + 1 + below(random, 3)) % 4;
    if (made.texts[from].empty()) continue;
    Content moved = made;
    moved.texts[to] += made.texts[from].back();
    moved.texts[from].pop_back();
    EXPECT_NE(work_key(job_of(made, random), "p"), work_key(job_of(moved, random), "p"));
  }
}

TEST(WorkKey, SeesTheOrderOfTheShapes) {
  Random random(4);
  int swapped = 0;
  for (int i = 0; i < rounds; ++i) {
    Content made = content(random);
    if (made.shapes.size() < 2) continue;
    Content other = made;
    std::swap(other.shapes[0], other.shapes[1]);
    EXPECT_NE(work_key(job_of(made, random), "p"), work_key(job_of(other, random), "p"));
    ++swapped;
  }
  EXPECT_GT(swapped, rounds / 4);
}

Job with_shapes(std::string shapes) {
  Job job;
  job.task.input_shapes = std::move(shapes);
  return job;
}

TEST(WorkKey, SpacesInNamesCount) {
  EXPECT_NE(work_key(with_shapes(R"({"a b": {}})"), "p"), work_key(with_shapes(R"({"ab": {}})"), "p"));
}

// Python's reader keeps the first place and the last value.
TEST(WorkKey, ANameThatStandsTwiceIsReadAsPythonDoes) {
  std::string twice = work_key(with_shapes(R"({"a": 1, "b": 2, "a": 3})"), "p");
  EXPECT_EQ(twice, work_key(with_shapes(R"({"a": 3, "b": 2})"), "p"));
  EXPECT_NE(twice, work_key(with_shapes(R"({"b": 2, "a": 3})"), "p"));
}

TEST(WorkKey, ShapesThatAreNoJsonStandForThemselves) {
  std::set<std::string> keys;
  for (const char* shapes : {"", "{", "{ ", "1 2", "12"}) keys.insert(work_key(with_shapes(shapes), "p"));
  EXPECT_EQ(keys.size(), 5U);
}

}  // namespace
}  // namespace kw::verify
