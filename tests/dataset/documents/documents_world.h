// The blocks of a small document, and their bytes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dataset/documents/documents.h"

namespace kw::documents {

inline std::vector<CodeBlock> blocks(Form form, std::string_view text) {
  auto found = code_blocks(form, text);
  EXPECT_TRUE(found) << found.error().what;
  return found ? *found : std::vector<CodeBlock>{};
}

inline std::vector<std::string> codes(Form form, std::string_view text) {
  std::vector<std::string> found;
  for (const CodeBlock& each : blocks(form, text)) found.push_back(each.code);
  return found;
}

inline std::vector<std::string> languages(Form form, std::string_view text) {
  std::vector<std::string> found;
  for (const CodeBlock& each : blocks(form, text)) found.push_back(each.block.language);
  return found;
}

inline std::string span_of(std::string_view text, const CodeBlock& block) {
  return std::string(text.substr(block.block.span.begin, block.block.span.end - block.block.span.begin));
}

inline std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace kw::documents
