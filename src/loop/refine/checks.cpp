#include "loop/refine/checks.h"

#include <algorithm>
#include <utility>

namespace kw::refine {
namespace {

// One check runs and one is ready, so that no thread waits for the loop.
constexpr std::size_t places_per_thread = 2;

}  // namespace

Checks::Checks(async::Loop& loop, std::size_t threads, Check check)
    : check_(std::move(check)), places_(loop, places_per_thread * std::max<std::size_t>(1, threads)) {
  if (threads > 0) threads_.emplace(threads);
}

async::Task<std::optional<Precheck>> Checks::of(std::string code, bool cut_short, async::Stop& stop) {
  auto place = co_await places_.take(stop);
  if (!place) co_return std::nullopt;
  if (!threads_) co_return check_(code, cut_short);
  co_return co_await threads_->result_of<Precheck>(
      [this, code = std::move(code), cut_short] { return check_(code, cut_short); });
}

}  // namespace kw::refine
