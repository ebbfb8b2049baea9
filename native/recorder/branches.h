// The branches of a CUDA graph: chains of nodes that the graph does not order among one another. On a tape
// each is a stream, and edges between them are events.
#pragma once

#include <cstddef>
#include <vector>

namespace kw::recorder {

inline constexpr std::size_t most_branches = 16;

struct BranchStep {
  std::size_t branch = 0;          // 0: the stream of the launch
  std::vector<std::size_t> after;  // earlier nodes of other branches for which it waits
  bool begins = false;             // the first node of a branch other than 0, with no node before it
  bool awaited = false;            // a node of another branch waits for it
};

// A step for each node. `after` lists the nodes on which each node depends, by their numbers in an order in
// which each comes after those. A graph of more branches than `most_branches` is one chain.
std::vector<BranchStep> branches(const std::vector<std::vector<std::size_t>>& after);

}  // namespace kw::recorder
