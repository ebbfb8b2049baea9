// Source text of rows: tests that need no parser, joined and fenced code, and the choice of holes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/extract/harvest.h"
#include "dataset/pairs/pairs.h"
#include "dataset/pairs/row_code.h"
#include "dataset/units/unit.h"

namespace kw::pairs {

// Tests of source text that need no parser.
harvest::Language language_of(corpus::UnitKind kind);

// Whether the text contains a token like <|fim_middle|> or <|im_end|>, which a tokenizer would take for a
// special token.
bool holds_special_token(std::string_view text);

// Whether the text contains more than white space, comments, lone string literals, `pass` and punctuation.
// Reads each byte once; an unterminated literal ends at the end of the text.
bool holds_code(std::string_view text, harvest::Language language);

// The text without comments and docstrings: strings that are statements of their own.
std::string without_prose(std::string_view text, harvest::Language language);

// Whether the text contains the name as a complete word.
bool holds_word(std::string_view text, std::string_view word);

// The non-empty parts on separate lines, with one blank line between them. Keeps the end of the last part.
std::string joined(std::initializer_list<std::string_view> pieces);

// The code in a fence longer than any in it, with the language's name.
std::string fenced(std::string_view code, std::string_view language);

// Chooses the holes of a kernel.
struct Cut {
  std::string node;
  corpus::Span middle;            // in the kernel's text
  corpus::Span code;              // the middle without white space at its ends
  std::uint64_t hash = 0;         // of the unit, the seed and the place: the source of random choices
  std::uint32_t occurrences = 0;  // of its text in the build; 0: not counted
};

// The body and all other holes that are worth a row.
std::vector<Cut> possible_cuts(const corpus::Unit& unit, const KernelCode& kernel, const FimOptions& options);

// The body, and the numbers of blocks, expressions and calls in the options, each middle once. Of more
// candidates, takes the rarest, then those with the smallest hashes.
std::vector<Cut> choose_cuts(std::vector<Cut> all, const FimOptions& options);

}  // namespace kw::pairs
