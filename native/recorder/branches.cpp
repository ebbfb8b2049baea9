#include "branches.h"

#include <algorithm>

namespace kw::recorder {

std::vector<BranchStep> branches(const std::vector<std::vector<std::size_t>>& after) {
  std::vector<BranchStep> steps(after.size());
  std::vector<std::size_t> last;  // by branch: its last node
  for (std::size_t node = 0; node < after.size(); ++node) {
    BranchStep& step = steps[node];
    // A node goes on with the branch of one that it depends on, if that is the last there.
    auto tail = std::ranges::find_if(
        last, [&](std::size_t each) { return std::ranges::count(after[node], each) > 0; });
    step.branch = static_cast<std::size_t>(tail - last.begin());
    if (tail == last.end()) {
      if (last.size() == most_branches) return std::vector<BranchStep>(after.size());
      last.push_back(node);
      step.begins = after[node].empty() && step.branch > 0;
    }
    last[step.branch] = node;
    for (std::size_t before : after[node]) {
      if (steps[before].branch == step.branch) continue;
      step.after.push_back(before);
      steps[before].awaited = true;
    }
  }
  return steps;
}

}  // namespace kw::recorder
