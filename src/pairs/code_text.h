// Small looks at source text that need no parser.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "corpus/unit.h"
#include "harvest/harvest.h"

namespace kw::pairs {

harvest::Language language_of(corpus::UnitKind kind);

// Whether the text holds a token like <|fim_middle|> or <|im_end|>: a tokenizer would take it for its own.
bool holds_special_token(std::string_view text);

// Whether there is more than white space, comments, string literals that stand alone, `pass` and
// punctuation. Bytes are read once; an unfinished literal ends at the end of the text.
bool holds_code(std::string_view text, harvest::Language language);

// The pieces that are not empty, each on lines of its own, with one blank line between them. The last piece
// ends as it does.
std::string joined(std::initializer_list<std::string_view> pieces);

// The code between fences that no line of it can close, with the language's name.
std::string fenced(std::string_view code, std::string_view language);

}  // namespace kw::pairs
