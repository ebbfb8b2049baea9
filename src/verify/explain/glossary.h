// The words of a verdict and of a certificate with their meanings and remedies: looked up by name, and listed
// by kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/display.h"
#include "base/core/result.h"
#include "base/core/words.h"

namespace kw::explain {

BOOST_DEFINE_ENUM_CLASS(WordKind, status, error_class, counts_reason, flag, trust, shapes, other_shapes,
                        family_outcome, family, stage, fault, isolation, sanitizer, sanitizer_outcome,
                        stop_reason, answer, task_mark)

struct Entry {
  WordKind kind;
  std::string_view word;
  std::string what;         // one sentence or several
  std::string_view advice;  // what a person does about it
};

// Every word, by kind in the order of WordKind, within a kind in the order of the enumeration.
const std::vector<Entry>& glossary();

// The entries of a word: several if it belongs to several kinds. Ignores case, and "-" equals "_". A kind,
// such as "trust", stands for its words, and a part of a word, such as "memory", for all words with that
// part. For any other word the error suggests the nearest word and lists all.
Result<std::vector<Entry>> entries_of(std::string_view word);

// "compile_error (error class)", the meaning, and the advice.
std::string to_terminal(const Entry& entry, const Style& style);

// All words by kind, one line each, with the beginning of their meaning.
std::string word_list(const Style& style);

}  // namespace kw::explain
