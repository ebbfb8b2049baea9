#include "view/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kw::view {
namespace {

using namespace std::chrono_literals;

constexpr auto shortest_pause = 500ms;

}  // namespace

Live::Live(async::Loop& loop, std::unique_ptr<Model> model, std::vector<std::string> paths)
    : model_(std::move(model)),
      paths_(std::move(paths)),
      reading_(loop, 1),
      changed_(loop, async::SteadyClock::time_point::max()) {}

Live::~Live() {
  reader_.close();
}

void Live::stop() {
  stopped_ = true;
  changed_.cancel();
}

void Live::publish(EditionPtr edition) {
  edition_ = std::move(edition);
  changed_.cancel();
}

// Null if nothing has changed.
async::Task<Result<EditionPtr>> Live::read(bool first) {
  const auto began = async::SteadyClock::now();
  Result<EditionPtr> edition;
  try {
    edition = co_await reader_.result_of<Result<EditionPtr>>(
        [model = model_.get(), first, next = version() + 1]() -> Result<EditionPtr> {
          if (first) {
            if (auto read = model->read(); !read) return std::unexpected(read.error());
          } else {
            auto changed = model->refresh();
            if (!changed) return std::unexpected(changed.error());
            if (!*changed) return nullptr;
          }
          auto made = make_edition(model->index(), next);
          if (!made) return std::unexpected(made.error());
          return std::make_shared<const Edition>(std::move(*made));
        });
  } catch (const std::exception& thrown) {
    // look() runs outside of a request: the exception of a library would end the program.
    edition = fail(fmt::format("cannot read the inputs: {}", thrown.what()));
  }
  auto ended = async::SteadyClock::now();
  next_look_ = ended + std::max<async::SteadyClock::duration>(shortest_pause, 4 * (ended - began));
  co_return edition;
}

async::Task<Result<EditionPtr>> Live::edition() {
  if (edition_) co_return edition_;
  auto place = co_await reading_.take();
  if (!edition_) {
    auto edition = co_await read(true);
    if (!edition) co_return std::unexpected(edition.error());
    publish(std::move(*edition));
  }
  co_return edition_;
}

async::Task<> Live::look() {
  auto place = reading_.try_take();
  if (!place || !edition_) co_return;
  auto edition = co_await read(false);
  if (edition && *edition) publish(std::move(*edition));
}

async::Task<> Live::newer_than(std::uint64_t version, async::Deadline deadline) {
  auto wait = [](Live* live, std::uint64_t known) -> async::Task<> {
    auto cancellation = co_await boost::asio::this_coro::cancellation_state;
    auto goes_on = [&] { return cancellation.cancelled() == boost::asio::cancellation_type::none; };
    boost::system::error_code ignored;
    while (goes_on() && !live->stopped_ && live->version() <= known)
      co_await live->changed_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  };
  co_await async::within(deadline, nullptr, wait(this, version));
}

}  // namespace kw::view
