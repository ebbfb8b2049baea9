#include <queue>
#include <utility>

#include "recording/plan.h"

namespace kw::recording {
namespace {

struct Edges {
  std::vector<std::vector<std::size_t>> followers;
  std::vector<std::size_t> waits_for;  // how many steps each
};

Edges edges(const Plan& plan) {
  Edges edges{std::vector<std::vector<std::size_t>>(plan.steps.size()),
              std::vector<std::size_t>(plan.steps.size())};
  std::vector<std::size_t> last;  // of each stream, counted from 1
  auto follows = [&](std::size_t later, std::size_t earlier) {
    edges.followers[earlier].push_back(later);
    ++edges.waits_for[later];
  };
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (step.stream >= last.size()) last.resize(step.stream + 1);
    if (last[step.stream] != 0) follows(i, last[step.stream] - 1);
    for (std::size_t earlier : step.after) follows(i, earlier);
    last[step.stream] = i + 1;
  }
  return edges;
}

}  // namespace

// Of the steps that may come next always the one that was recorded last. Whatever a joined step waits for is
// joined, so one of them is ready until all have come.
std::vector<std::size_t> reversed(const Plan& plan) {
  Edges left = edges(plan);
  std::priority_queue<std::pair<bool, std::size_t>> ready;
  auto offer = [&](std::size_t step) { ready.emplace(plan.steps[step].joined, step); };
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    if (left.waits_for[i] == 0) offer(i);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    std::size_t step = ready.top().second;
    ready.pop();
    order.push_back(step);
    for (std::size_t later : left.followers[step])
      if (--left.waits_for[later] == 0) offer(later);
  }
  return order;
}

}  // namespace kw::recording
