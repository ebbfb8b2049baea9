// One function of a CUDA file: its parts as a unit has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harvest/parsed_file.h"
#include "harvest/walk.h"

namespace kw::harvest {

// The function's name, where its declarator is one that can be read.
std::string cuda_function_name(Node function);

// A __global__ or __device__ function that is whole; `begin`: of its template line or attributes. Nothing for
// other functions.
std::optional<PendingUnit> cuda_function(Node function, std::size_t begin, std::string_view code);

// Identifiers and types in the node, sorted, each once; of a macro the words of its replacement.
std::vector<std::string> cuda_uses(Node node, std::string_view code);

}  // namespace kw::harvest
