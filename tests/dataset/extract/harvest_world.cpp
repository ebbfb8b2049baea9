#include "harvest_world.h"

#include <gtest/gtest.h>

namespace kw::harvest {

std::vector<corpus::Unit> units_of(std::initializer_list<FileText> files, const Options& options) {
  std::vector<std::shared_ptr<const ParsedFile>> parsed;
  for (const auto& [path, text] : files) {
    corpus::SourceFile file;
    file.origin.name = "small";
    file.path = path;
    file.bytes = text;
    file.licence.spdx = path == "pkg/other_licence.py" ? "GPL-3.0-only" : "MIT";
    auto outcome = parse(std::move(file), language_of(path), options);
    EXPECT_TRUE(outcome.file) << path << ": " << outcome.reason;
    if (outcome.file) parsed.push_back(outcome.file);
  }
  return link(parsed);
}

std::vector<corpus::Unit> python_units(const std::string& code) {
  return units_of({{"a.py", code}});
}
std::vector<corpus::Unit> cuda_units(const std::string& code) {
  return units_of({{"a.cu", code}});
}

corpus::Unit named(const std::vector<corpus::Unit>& units, const std::string& name) {
  corpus::Unit found;
  int seen = 0;
  for (const corpus::Unit& unit : units)
    if (unit.name == name) {
      found = unit;
      ++seen;
    }
  EXPECT_EQ(seen, 1) << name;
  return found;
}

}  // namespace kw::harvest
