// Live: the model of some inputs while they grow. It reads them again when they have changed, and wakes those
// who wait for a new edition.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/async/loop.h"
#include "base/async/semaphore.h"
#include "base/async/wait.h"
#include "base/async/workbench.h"
#include "base/core/result.h"
#include "view/edition.h"
#include "view/model.h"

namespace kw::view {

using EditionPtr = std::shared_ptr<const Edition>;

class Live {
 public:
  Live(async::Loop& loop, std::unique_ptr<Model> model, std::vector<std::string> paths);
  // Waits for the work on the model.
  ~Live();
  Live(const Live&) = delete;

  const std::vector<std::string>& paths() const { return paths_; }

  // The newest edition; reads the inputs if they have not been read.
  async::Task<Result<EditionPtr>> edition();
  // Reads what has changed. Keeps the last edition if the inputs cannot be read.
  async::Task<> look();
  // Whether look() is due: it takes at most a fifth of the time of the model's thread.
  bool is_due() const { return async::SteadyClock::now() >= next_look_; }
  // The next look is due at once.
  void hurry() { next_look_ = {}; }

  // Runs on the thread of the model, after its inputs were read.
  template <typename T>
  async::Task<Result<T>> ask(std::move_only_function<Result<T>(Model&)> question) {
    auto read = co_await edition();
    if (!read) co_return std::unexpected(read.error());
    co_return co_await reader_.result_of<Result<T>>(
        [this, question = std::move(question)]() mutable { return question(*model_); });
  }

  // Returns at a newer edition than that version, at the deadline, or after stop().
  async::Task<> newer_than(std::uint64_t version, async::Deadline deadline);
  void stop();
  bool is_stopped() const { return stopped_; }
  std::uint64_t version() const { return edition_ ? edition_->version : 0; }

 private:
  async::Task<Result<EditionPtr>> read(bool first);
  void publish(EditionPtr edition);

  std::unique_ptr<Model> model_;  // used on the reader's thread
  std::vector<std::string> paths_;
  EditionPtr edition_;
  async::SteadyClock::time_point next_look_{};
  async::Semaphore reading_;
  boost::asio::steady_timer changed_;  // cancelled at every new edition
  bool stopped_ = false;
  async::Workbench reader_;
};

}  // namespace kw::view
