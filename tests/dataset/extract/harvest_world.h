// A small origin: files by path, parsed and linked.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "dataset/extract/harvest.h"

namespace kw::harvest {

using FileText = std::pair<std::string, std::string>;

std::vector<corpus::Unit> units_of(std::initializer_list<FileText> files, const Options& options = {});

// The harvest of one Python file, of one CUDA file.
std::vector<corpus::Unit> python_units(const std::string& code);
std::vector<corpus::Unit> cuda_units(const std::string& code);

// The only unit of the name; without one the test fails and the unit is empty.
corpus::Unit named(const std::vector<corpus::Unit>& units, const std::string& name);

}  // namespace kw::harvest
