#include "recording/plan.h"

#include <algorithm>
#include <map>

#include "recording/parts.h"

namespace kw::recording {
namespace {

// What is known to have ended, for each stream: the number of its last such step, counted from 1; 0: none.
using Clock = std::vector<std::uint32_t>;

void learn(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

class Planner {
 public:
  explicit Planner(const Recording& recording)
      : recording_(recording),
        streams_(size_of(recording.streams()), Clock(size_of(recording.streams()))),
        host_(streams_.size()),
        last_(streams_.size()) {}

  Plan planned() {
    for (std::size_t i = 0; i < size_of(recording_.operations()); ++i)
      add(i, *entry(recording_.operations(), i));
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

  // What is enqueued on a stream comes after what the host waited for; the legacy default stream waits for
  // all blocking ones, and they for it.
  void arrive(std::size_t stream) {
    learn(streams_[stream], host_);
    const Stream& self = stream_at(stream);
    for (std::size_t other = 0; other < streams_.size(); ++other) {
      bool waits = self.legacy_default() ? stream_at(other).blocking()
                                         : self.blocking() && stream_at(other).legacy_default();
      if (waits && other != stream) learn(streams_[stream], streams_[other]);
    }
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
    clock[stream] = last_[stream] = static_cast<std::uint32_t>(plan_.steps.size());
    clocks_.insert(clocks_.end(), clock.begin(), clock.end());
  }

  // Steps of other streams that this stream's last step does not know of; none that another of them knows of.
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

  // What a step (counted from 1) knows of a stream.
  std::uint32_t known(std::uint32_t step, std::size_t stream) const {
    return step == 0 ? 0 : clocks_[(step - 1) * streams_.size() + stream];
  }

  // The caller reads the results with what it enqueues next on its stream.
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
  std::vector<Clock> streams_;             // what the next operation of each stream comes after
  Clock host_;                             // what the host has seen end
  Clock last_;                             // each stream's last step
  std::map<std::uint64_t, Clock> events_;  // what their last record saw
  std::vector<std::uint32_t> clocks_;      // of each step, itself included
  Plan plan_;
};

}  // namespace

Plan plan(const Recording& recording) {
  return Planner(recording).planned();
}

}  // namespace kw::recording
