// What `doctor` finds.
#pragma once

#include <string>
#include <vector>

namespace kw::app {

enum class Grade { fine, less, missing };

struct Finding {
  Grade grade = Grade::fine;
  std::string what;
  std::string remedy;
};

using Findings = std::vector<Finding>;

}  // namespace kw::app
