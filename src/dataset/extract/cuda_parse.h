// Parses a CUDA file into definitions, units and launches.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "code/syntax/tree.h"
#include "dataset/extract/parsed_file.h"
#include "dataset/extract/source_walk.h"

namespace kw::harvest {

// The function's name; empty if its declarator is unreadable.
std::string cuda_function_name(Node function);

// A complete __global__ or __device__ function; `begin` is the offset of its template line or attributes.
// Empty for other functions.
std::optional<PendingUnit> cuda_function(Node function, std::size_t begin, std::string_view code);

// Identifiers and types in the node, sorted and unique; of a macro, the words of its replacement.
std::vector<std::string> cuda_uses(Node node, std::string_view code);

// Returns the spans of the top-level nodes. Includes complete functions, also inside macros; excludes
// methods of classes, which are not self-contained.
std::vector<corpus::Span> parse_cuda(const syntax::Tree& tree, ParsedFile& file);

// Kernels that did not become units of the file, with the reason: "line 12: ...". Not declarations.
std::vector<std::string> lost_cuda_kernels(const syntax::Tree& tree, const ParsedFile& file);

void find_cuda_launches(const syntax::Tree& tree, ParsedFile& file);

}  // namespace kw::harvest
