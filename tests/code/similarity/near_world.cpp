#include "near_world.h"

#include <fmt/format.h>
#include <unistd.h>

#include <random>

namespace kw::near {

std::string random_code(std::size_t tokens, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  for (std::size_t i = 0; i < tokens; ++i) {
    if (random() % 3 == 0)
      text += "()[]=+,:"[random() % 8];
    else
      text += fmt::format(" w{}", random() % 5000);
  }
  return text;
}

std::string with_changes(const std::string& text, std::size_t changes, unsigned seed) {
  std::mt19937 random(seed);
  std::string changed = text;
  for (std::size_t i = 0; i < changes; ++i) {
    std::size_t at = changed.find(" w", random() % (changed.size() - 20));
    if (at != std::string::npos) changed.replace(at, 2, fmt::format(" new{}_", i));
  }
  return changed;
}

double estimate(const std::string& a, const std::string& b) {
  Sketcher sketcher({});
  std::vector<std::uint32_t> left(126);
  std::vector<std::uint32_t> right(126);
  sketcher.sketch(a, left);
  sketcher.sketch(b, right);
  double equal = 0;
  for (std::size_t i = 0; i < 126; ++i) equal += left[i] == right[i];
  return equal / 126;
}

TextAt texts_at(const std::vector<std::string>& texts) {
  return [&texts](std::uint32_t number) -> Result<std::string> { return texts.at(number); };
}

NearTest::NearTest() {
  std::string name = (std::filesystem::temp_directory_path() / "near.XXXXXX").string();
  folder_ = ::mkdtemp(name.data());
}

NearTest::~NearTest() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

SketchFile NearTest::sketched(const std::vector<std::string>& texts, const Parameters& parameters) {
  auto file = SketchFile::open(folder_ / fmt::format("{}.sketches", files_++), parameters);
  EXPECT_TRUE(file) << file.error().what;
  Sketcher sketcher(parameters);
  std::vector<std::uint32_t> sketch(std::size_t{parameters.bands} * parameters.rows);
  for (const std::string& text : texts) {
    sketcher.sketch(text, sketch);
    EXPECT_TRUE(file->append(sketch));
  }
  return *file;
}

Joined NearTest::joined(const std::vector<std::string>& texts, const JoinOptions& options) {
  auto result = join(sketched(texts), texts_at(texts), options);
  EXPECT_TRUE(result) << result.error().what;
  return *result;
}

std::string said(const std::vector<Pair>& pairs) {
  std::string words;
  for (const Pair& pair : pairs) words += fmt::format("{}{}-{}", words.empty() ? "" : " ", pair.a, pair.b);
  return words;
}

}  // namespace kw::near
