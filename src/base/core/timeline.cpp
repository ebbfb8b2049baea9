#include "base/core/timeline.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <ranges>

#include "base/core/text.h"

namespace kw {
namespace {

double microseconds(Timeline::Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

std::string quoted(std::string_view text) {
  return boost::json::serialize(boost::json::string(to_utf8(text)));
}

std::size_t first_free(const std::set<std::size_t>& held) {
  std::size_t number = 0;
  while (held.contains(number)) ++number;
  return number;
}

}  // namespace

Result<std::shared_ptr<Timeline>> Timeline::create(const std::filesystem::path& file) {
  Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot write {}: {}", file.string(), errno_text(errno)));
  std::shared_ptr<Timeline> timeline(new Timeline(file, std::move(fd)));
  return timeline;
}

Timeline::Row Timeline::row(const std::shared_ptr<Timeline>& timeline, std::string_view group) {
  if (!timeline) return {};
  const std::size_t place = timeline->group(group);
  std::set<std::size_t>& held = timeline->groups_[place].held;
  const std::size_t number = first_free(held);
  held.insert(number);
  return {timeline, place, number};
}

Timeline::Row::~Row() {
  if (timeline_) timeline_->groups_[group_].held.erase(number_);
}

void Timeline::Row::add(std::string_view name, Clock::time_point since,
                        const boost::json::object& facts) const {
  if (!timeline_) return;
  const auto until = Clock::now();
  since = std::clamp(since, timeline_->start_, until);
  timeline_->write(
      fmt::format(R"({{"name":{},"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{}}})",
                  quoted(name), group_ + 1, number_ + 1, microseconds(since - timeline_->start_),
                  microseconds(until - since), boost::json::serialize(facts)));
}

// Groups stand in the order in which they came into being.
std::size_t Timeline::group(std::string_view name) {
  auto known = std::ranges::find(groups_, name, &Group::name);
  const auto place = static_cast<std::size_t>(known - groups_.begin());
  if (known != groups_.end()) return place;
  groups_.push_back({std::string(name), {}});
  write(fmt::format(R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":{}}}}})", place + 1,
                    quoted(name)));
  write(fmt::format(R"({{"name":"process_sort_index","ph":"M","pid":{},"args":{{"sort_index":{}}}}})",
                    place + 1, place + 1));
  return place;
}

// The format lets the closing bracket be absent, so what is there is a whole file at any time.
void Timeline::write(const std::string& event) {
  if (!written_) return;
  const std::string text = (is_empty_ ? "[\n" : ",\n") + event;
  is_empty_ = false;
  if (!write_all(fd_.get(), text))
    written_ = fail(fmt::format("cannot write {}: {}", file_.string(), errno_text(errno)));
}

Result<> Timeline::finish() {
  if (written_ && fd_ && !write_all(fd_.get(), is_empty_ ? "[]\n" : "\n]\n"))
    written_ = fail(fmt::format("cannot write {}: {}", file_.string(), errno_text(errno)));
  Result<> ended = written_;
  if (written_) written_ = fail(file_.string() + " is ended");
  return ended;
}

}  // namespace kw
