// Where an HTML text has code: found by its tags alone, so that only these pieces are parsed.
#pragma once

#include <string_view>
#include <vector>

#include "corpus/place.h"

namespace kw::documents {

struct CodeRegion {
  corpus::Span piece;   // from the start tag of <pre> or <code> to the end of its end tag
  corpus::Span before;  // the tags that open right before it, which often name the language; may be empty
};

// Comments, scripts and styles are passed over, and so is what is never closed. Linear.
std::vector<CodeRegion> code_regions(std::string_view html);

}  // namespace kw::documents
