// Pieces of a function's body that a model may be asked to fill in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "corpus/place.h"
#include "harvest/harvest.h"

namespace kw::harvest {

struct HoleSpan {
  std::string node;     // "block", "expression", "call"
  corpus::Span middle;  // in the region
};

// Candidates inside the body of the function that spans `function` of the region, decorators and signature
// left out, in the order of the source (an outer one before those in it) and each span once: "block" for
// whole bodies of for, if, while and with, and for runs of statements (whole lines without the last newline);
// "expression" for right sides of assignments and what is returned; "call" for calls. No trivial ones: a name
// or a number alone. Empty where the function cannot be parsed.
std::vector<HoleSpan> hole_spans(std::string_view region, corpus::Span function, Language language);

}  // namespace kw::harvest
