// Which PyTorch units are references: code that computes with PyTorch, and does not call a kernel itself.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "corpus/unit.h"

namespace kw::pairs {

// Names of functions and classes that lead to a Triton kernel: kernels, what launches them, and every PyTorch
// unit that calls one of these by name, directly or through others.
std::set<std::string, std::less<>> names_that_launch(const std::vector<corpus::Unit>& units);

// Neither leads to a Triton kernel, nor to one written by other means (cuTile, CuTe, TileLang, Pallas, Numba,
// an extension in C++).
bool is_reference(const corpus::Unit& unit, const std::set<std::string, std::less<>>& launching);

}  // namespace kw::pairs
