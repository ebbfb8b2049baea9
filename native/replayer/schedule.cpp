#include "schedule.h"

namespace kw::replayer {
namespace {

std::vector<std::size_t> recorded_order(const recording::Plan& plan) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) order.push_back(i);
  return order;
}

std::vector<bool> awaited(const recording::Plan& plan) {
  std::vector<bool> result(plan.steps.size());
  for (const auto& step : plan.steps)
    for (std::size_t before : step.after) result[before] = true;
  return result;
}

std::vector<std::size_t> side_streams(const std::vector<Turn>& turns) {
  std::set<std::size_t> streams;
  for (const Turn& each : turns) streams.insert(each.stream);
  streams.erase(0);
  return {streams.begin(), streams.end()};
}

}  // namespace

Schedule schedule(const recording::Plan& plan, wire::Order order, const std::set<std::size_t>& left_out) {
  Schedule result;
  std::vector<bool> signals = awaited(plan);
  bool many = order == wire::Order::recorded;
  for (std::size_t index : order == wire::Order::reversed ? reversed(plan) : recorded_order(plan)) {
    const recording::Step& step = plan.steps[index];
    Turn turn;
    turn.step = index;
    turn.operation = step.operation;
    turn.left_out = left_out.contains(step.operation);
    if (many) {
      turn.stream = step.stream;
      turn.after = step.after;
      turn.signals = signals[index];
    }
    bool late = order == wire::Order::reversed && !step.joined;
    (late ? result.late : result.turns).push_back(std::move(turn));
  }
  result.streams = side_streams(result.turns);
  return result;
}

}  // namespace kw::replayer
