// Texts for the tests of near duplicates.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "code/similarity/near.h"

namespace kw::near {

// Words and punctuation that resemble code; equal seeds give equal text.
std::string random_code(std::size_t tokens, unsigned seed);

// The text with that many words replaced by new ones.
std::string with_changes(const std::string& text, std::size_t changes, unsigned seed);

// The share of functions on which two sketches agree.
double estimate(const std::string& a, const std::string& b);

TextAt texts_at(const std::vector<std::string>& texts);

// A folder that is removed at the end of the test.
class NearTest : public testing::Test {
 protected:
  NearTest();
  ~NearTest() override;

  SketchFile sketched(const std::vector<std::string>& texts, const Parameters& parameters = {});
  Joined joined(const std::vector<std::string>& texts, const JoinOptions& options = {});

  std::filesystem::path folder_;

 private:
  int files_ = 0;
};

// "0-3 5-7"
std::string said(const std::vector<Pair>& pairs);

}  // namespace kw::near
