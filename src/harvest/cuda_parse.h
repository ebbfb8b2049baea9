// A CUDA file → its definitions, units and launches.
#pragma once

#include <vector>

#include "harvest/parsed_file.h"
#include "syntax/tree.h"

namespace kw::harvest {

// Returns the spans of the top-level nodes. Functions count that are whole, macros around them or not; not
// the methods of classes, which cannot stand alone.
std::vector<corpus::Span> parse_cuda(const syntax::Tree& tree, ParsedFile& file);

void find_cuda_launches(const syntax::Tree& tree, ParsedFile& file);

}  // namespace kw::harvest
