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

// Lower-case ASCII letters and digits make words, all else parts them. Bullets at a line's start ("1.",
// "(a)") are no words.
Words words_of(std::string_view bytes);

// Where the phrase stands as whole words: the place of the space before it, `from` or later, or npos.
std::size_t find_phrase(const Words& words, std::string_view phrase, std::size_t from = 0);

// The line that the place is in.
std::size_t line_of(const Words& words, std::size_t place);

std::size_t count_words(std::string_view spaced);

// The first `lines` lines, and no more than `max_bytes` of them.
std::string_view head_of(std::string_view bytes, std::size_t lines, std::size_t max_bytes);

}  // namespace kw::licence
