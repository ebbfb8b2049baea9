// Parses a Python file into statements, units and launches.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "code/syntax/tree.h"
#include "dataset/extract/parsed_file.h"

namespace kw::harvest {

void survey_python(const syntax::Tree& tree, ParsedFile& file);      // tops, statements, imports
void find_python_units(const syntax::Tree& tree, ParsedFile& file);  // after survey_python
void find_python_launches(const syntax::Tree& tree, ParsedFile& file);

// Whether the decorated_definition has Triton's jit decorator. `aliases` maps local names to their imports.
using Aliases = std::map<std::string, std::string, std::less<>>;
bool is_jitted(syntax::Node decorated, const Aliases& aliases);
Aliases aliases_of(const Python& python);
std::string resolved(const Aliases& aliases, std::string_view path);

}  // namespace kw::harvest
