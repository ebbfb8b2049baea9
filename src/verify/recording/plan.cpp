#include "verify/recording/plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "verify/recording/recording.h"

namespace kw::recording {
namespace {

// A vector clock: for each stream the last step, counted from 1, that is known to have ended; 0: none.
using Clock = std::vector<std::uint32_t>;

void learn(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

// Whether a step with this clock follows all steps of the other.
bool follows(const Clock& clock, const Clock& other) {
  return std::ranges::equal(clock, other, std::greater_equal<>());
}

class Planner {
 public:
  explicit Planner(const Recording& recording)
      : recording_(recording),
        streams_(size_of(recording.streams()), Clock(size_of(recording.streams()))),
        host_(streams_.size()),
        last_(streams_.size()) {
    const std::size_t markers = size_of(recording.markers());
    if (markers == 1) marker_ = entry(recording.markers(), 0);
    if (markers == 0) plan_.split.why_not = "its recording has no marker between them";
    if (markers > 1) plan_.split.why_not = "its recording has more than one marker between them";
  }

  Plan planned() {
    const std::size_t count = size_of(recording_.operations());
    for (std::size_t i = 0; i < count; ++i) {
      if (i == marker_) split();
      add(i, *entry(recording_.operations(), i));
    }
    if (count == marker_) split();
    mark_joined();
    return std::move(plan_);
  }

 private:
  void add(std::size_t index, const Operation& operation) {
    std::size_t stream = operation.stream();
    switch (operation.work_type()) {
      case Work::EventRecord:
        arrive(stream);
        events_[operation.work_as_EventRecord()->event()] = streams_[stream];
        break;
      case Work::EventWait: {
        arrive(stream);
        auto event = events_.find(operation.work_as_EventWait()->event());
        if (event != events_.end()) learn(streams_[stream], event->second);
        break;
      }
      case Work::HostWait:
        wait(stream, *operation.work_as_HostWait());
        break;
      default:
        add_step(index, stream);
    }
  }

  // Operations on a stream run after everything that the host waited for. The legacy default stream waits for
  // all blocking streams, and they wait for it.
  void arrive(std::size_t stream) { streams_[stream] = arrival(stream); }

  // What an operation follows that is enqueued on this stream now.
  Clock arrival(std::size_t stream) const {
    Clock clock = streams_[stream];
    learn(clock, host_);
    const Stream& self = stream_at(stream);
    for (std::size_t other = 0; other < streams_.size(); ++other) {
      bool waits = self.legacy_default() ? stream_at(other).blocking()
                                         : self.blocking() && stream_at(other).legacy_default();
      if (waits && other != stream) learn(clock, streams_[other]);
    }
    return clock;
  }

  void split() {
    plan_.split.at = plan_.steps.size();
    forward_ = last_;
    if (!follows(arrival(0), forward_))
      plan_.split.why_not = "work of the forward pass still runs on another stream at the marker";
  }

  void wait(std::size_t stream, const HostWait& wait) {
    if (wait.scope() == HostWaits::device)
      for (const Clock& clock : streams_) learn(host_, clock);
    if (wait.scope() == HostWaits::stream) learn(host_, streams_[stream]);
    if (wait.scope() == HostWaits::event)
      if (auto event = events_.find(wait.event()); event != events_.end()) learn(host_, event->second);
  }

  void add_step(std::size_t index, std::size_t stream) {
    arrive(stream);
    Clock& clock = streams_[stream];
    plan_.open = plan_.open || clock != last_;
    plan_.steps.push_back({.operation = index, .stream = stream, .after = news(stream)});
    if (!forward_.empty() && plan_.split.why_not.empty() && !follows(clock, forward_))
      plan_.split.why_not = "work of the backward pass on another stream does not wait for the forward pass";
    clock[stream] = last_[stream] = static_cast<std::uint32_t>(plan_.steps.size());
    clocks_.insert(clocks_.end(), clock.begin(), clock.end());
  }

  // Steps of other streams that this stream's last step does not follow, without those that another of them
  // follows.
  std::vector<std::size_t> news(std::size_t stream) const {
    const Clock& now = streams_[stream];
    std::vector<std::size_t> fresh;
    for (std::size_t other = 0; other < now.size(); ++other)
      if (other != stream && now[other] > known(last_[stream], other)) fresh.push_back(other);
    std::vector<std::size_t> after;
    for (std::size_t other : fresh) {
      auto knows = [&](std::size_t third) {
        return third != other && known(now[third], other) >= now[other];
      };
      if (std::none_of(fresh.begin(), fresh.end(), knows)) after.push_back(now[other] - 1);
    }
    return after;
  }

  // The last step of a stream that a step (counted from 1) follows.
  std::uint32_t known(std::uint32_t step, std::size_t stream) const {
    return step == 0 ? 0 : clocks_[(step - 1) * streams_.size() + stream];
  }

  // The caller reads the results by later operations on its stream.
  void mark_joined() {
    arrive(0);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      Step& step = plan_.steps[i];
      step.joined = i < streams_[0][step.stream];
      if (!step.joined) ++plan_.unjoined;
    }
  }

  const Stream& stream_at(std::size_t index) const { return *entry(recording_.streams(), index); }

  const Recording& recording_;
  std::vector<Clock> streams_;             // steps that each stream's next operation follows
  Clock host_;                             // steps that the host has seen end
  Clock last_;                             // the last step of each stream
  std::optional<std::size_t> marker_;      // the operation before which the backward pass begins
  Clock forward_;                          // the last steps of the forward pass; empty before its end
  std::map<std::uint64_t, Clock> events_;  // clocks at their last records
  std::vector<std::uint32_t> clocks_;      // of each step, including itself
  Plan plan_;
};

}  // namespace

Plan plan(const Recording& recording) {
  return Planner(recording).planned();
}

namespace {

struct Edges {
  std::vector<std::vector<std::size_t>> followers;
  std::vector<std::size_t> waits_for;  // by step: number of steps before it
};

Edges edges(const Plan& plan) {
  Edges edges{std::vector<std::vector<std::size_t>>(plan.steps.size()),
              std::vector<std::size_t>(plan.steps.size())};
  std::vector<std::size_t> last;  // by stream, counted from 1
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

// Among the steps that may come next, takes the joined one of another stream that was recorded first. A step
// of the stream runs only when all other joined steps wait, directly or not, for a step of it; its next step
// is one of those that they wait for, since the steps of a stream are in order. Every step before a joined
// one is joined.
std::vector<std::size_t> late(const Plan& plan, std::size_t stream) {
  using Turn = std::tuple<bool, bool, std::size_t>;  // unjoined, of the stream, step
  Edges left = edges(plan);
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> ready;
  auto offer = [&](std::size_t step) {
    ready.emplace(!plan.steps[step].joined, plan.steps[step].stream == stream, step);
  };
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    if (left.waits_for[i] == 0) offer(i);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t step = std::get<std::size_t>(ready.top());
    ready.pop();
    order.push_back(step);
    for (std::size_t later : left.followers[step])
      if (--left.waits_for[later] == 0) offer(later);
  }
  return order;
}

namespace {

// As recorded, with the unjoined steps last.
std::vector<std::size_t> recorded(const Plan& plan) {
  std::vector<std::size_t> order;
  for (bool joined : {true, false})
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
      if (plan.steps[i].joined == joined) order.push_back(i);
  return order;
}

}  // namespace

std::vector<std::size_t> late_streams(const Plan& plan) {
  std::vector<std::size_t> streams;
  if (!plan.open && plan.unjoined == 0) return streams;
  std::set<std::size_t> used;
  for (const Step& step : plan.steps) used.insert(step.stream);
  std::vector<std::vector<std::size_t>> orders{recorded(plan)};
  for (std::size_t stream : used) {
    if (streams.size() == most_late) break;
    std::vector<std::size_t> order = late(plan, stream);
    if (std::ranges::find(orders, order) != orders.end()) continue;
    orders.push_back(std::move(order));
    streams.push_back(stream);
  }
  if (streams.empty() && plan.unjoined > 0) streams.push_back(0);
  return streams;
}

// Insertion sort by the place in the late order. Two neighbours that it exchanges come in another order there
// than here, so neither depends on the other.
Exchanged exchanged(const Plan& plan, std::size_t stream, std::uint64_t count) {
  Exchanged result{recorded(plan), std::nullopt};
  if (plan.steps.size() > most_exchanged) return result;
  const std::vector<std::size_t> target = late(plan, stream);
  std::vector<std::size_t> place(target.size());
  for (std::size_t i = 0; i < target.size(); ++i) place[target[i]] = i;
  std::vector<std::size_t>& order = result.order;
  for (std::size_t sorted = 1; sorted < order.size(); ++sorted)
    for (std::size_t at = sorted; at > 0 && place[order[at - 1]] > place[order[at]]; --at) {
      if (count-- == 0) return result;
      std::swap(order[at - 1], order[at]);
      result.last = {order[at], order[at - 1]};
    }
  return result;
}

std::uint64_t exchanges(const Plan& plan, std::size_t stream) {
  if (plan.steps.size() > most_exchanged) return 0;
  std::vector<std::size_t> place(plan.steps.size());
  const std::vector<std::size_t> target = late(plan, stream);
  for (std::size_t i = 0; i < target.size(); ++i) place[target[i]] = i;
  const std::vector<std::size_t> base = recorded(plan);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < base.size(); ++i)
    for (std::size_t before = 0; before < i; ++before) count += place[base[before]] > place[base[i]] ? 1 : 0;
  return count;
}

}  // namespace kw::recording
