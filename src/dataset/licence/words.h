// A text as words, so that wrapping, comment marks, bullets and letter case do not matter.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kw::licence {

struct Words {
  std::string text;  // " permission is hereby granted ": every word between single spaces
  struct Line {
    std::size_t begin = 0;   // in text, of the space before the line's first word
    std::size_t number = 0;  // from 1
  };
  std::vector<Line> lines;  // those with words in them
};

// Words consist of lower-case ASCII letters and digits; all other characters separate words. Bullets at a
// line's start ("1.", "(a)") are not words.
Words words_of(std::string_view bytes);

// The position of the phrase as complete words: the offset of the space before it, at or after `from`, or
// npos.
std::size_t find_phrase(const Words& words, std::string_view phrase, std::size_t from = 0);

// Whether a text with single spaces between its words contains the phrase as complete words.
bool has_phrase(std::string_view spaced, std::string_view phrase);

// The number of the line at this offset.
std::size_t line_of(const Words& words, std::size_t place);

std::size_t count_words(std::string_view spaced);

// The first `lines` lines, at most 16'000 bytes.
std::string_view head_of(std::string_view bytes, std::size_t lines);

}  // namespace kw::licence
