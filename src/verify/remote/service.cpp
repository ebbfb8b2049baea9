#include "verify/remote/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "base/async/wait.h"
#include "base/core/json.h"

namespace kw::remote {
namespace {

namespace json = boost::json;

// Bounds the width that an untrusted answer can state: more evaluations at once would exhaust this machine.
constexpr double most_width = 4096;

std::size_t count_at(const json::object& object, std::string_view key, std::size_t otherwise, double most) {
  auto number = number_at(object, key);
  if (!number || !(*number >= 1)) return otherwise;
  return static_cast<std::size_t>(std::min(*number, most));
}

}  // namespace

std::optional<ServiceInfo> read_facts(const json::object& object) {
  auto protocol = string_at(object, "protocol");
  if (!protocol || protocol->empty() || !number_at(object, "width")) return {};
  ServiceInfo facts;
  facts.protocol = *protocol;
  facts.version = string_at(object, "version").value_or("");
  facts.device = string_at(object, "device").value_or("");
  facts.width = count_at(object, "width", 1, most_width);
  if (const json::value* gpus = object.if_contains("gpus"); gpus != nullptr && gpus->is_array())
    for (const json::value& gpu : gpus->get_array())
      if (gpu.is_string()) facts.gpus.emplace_back(gpu.get_string());
  if (const json::value* limits = object.if_contains("limits"); limits != nullptr && limits->is_object()) {
    facts.max_body_bytes =
        count_at(limits->get_object(), "max_body_bytes", facts.max_body_bytes, double(std::size_t{1} << 30));
    facts.max_batch = count_at(limits->get_object(), "max_batch", facts.max_batch, most_width);
  }
  return facts;
}

using std::chrono::milliseconds;

namespace {

// Shorter outages are not reported.
constexpr double quiet_ms = 1500;

}  // namespace

void Link::answered() {
  if (!away_since_) return;
  if (has_complained_)
    say(fmt::format("{} is reachable again after {:.0f} s", options_.name,
                    async::ms_since(*away_since_) / 1000));
  away_since_.reset();
  has_complained_ = false;
}

async::Task<bool> Link::bear(ServiceFailure trouble, http::Backoff& backoff, async::Stop& stop) {
  if (!away_since_) away_since_ = async::SteadyClock::now();
  double away_ms = async::ms_since(*away_since_);
  double left_ms = static_cast<double>(options_.patience.count()) - away_ms;
  if (left_ms <= 0) co_return false;
  if (away_ms > quiet_ms && !std::exchange(has_complained_, true))
    say(fmt::format("{}; waiting up to {:.0f} s for it", trouble.what, left_ms / 1000));
  // The last try is made when the patience ends.
  auto wait =
      std::min(backoff.next(trouble.retry_after, random_), milliseconds(static_cast<long>(left_ms) + 1));
  co_await async::pause(wait, stop);
  co_return !stop.requested();
}

}  // namespace kw::remote
