// Pairs of a CUDA kernel and its Triton rewrite that people made.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "corpus/row.h"

namespace kw::pairs {

// The rows of a folder with NAME.cu beside NAME.py, or NAME_cuda.cu beside NAME_triton.py, by name; whole
// files, in the words of pair_row(), with confidence 1. Licence and source come from NAME.json ({"licence":
// SPDX, "source": address; "triton_licence" where the two differ}), else from the line for NAME in pairs.csv
// (columns name, licence and, if there is one, source), else the licence from each file's SPDX tag, else it
// is unknown: empty. An error for a folder without a pair, a .cu without its .py, a file over 4 MiB or not
// UTF-8, and for JSON or CSV that cannot be read.
Result<std::vector<corpus::Row>> hand_made_pairs(const std::string& folder);

}  // namespace kw::pairs
