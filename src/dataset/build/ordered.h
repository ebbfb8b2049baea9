// Processes items in several threads and delivers the results in the order of the items.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace kw::dataset {

// `work` runs in the threads, `consume` in the thread that calls push() and finish(). Only a few items per
// thread are in memory at a time. With one thread all work happens in push(). push() or finish() rethrows
// exceptions of `work`.
template <typename In, typename Out>
class Ordered {
 public:
  Ordered(unsigned threads, std::function<Out(In)> work, std::function<void(Out)> consume)
      : work_(std::move(work)), consume_(std::move(consume)), most_(std::size_t{8} * threads) {
    for (unsigned i = 0; threads > 1 && i < threads; ++i) threads_.emplace_back([this] { serve(); });
  }
  Ordered(const Ordered&) = delete;
  Ordered& operator=(const Ordered&) = delete;
  ~Ordered() {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
      todo_.clear();
    }
    more_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void push(In item) {
    if (threads_.empty()) return consume_(work_(std::move(item)));
    auto slot = std::make_shared<Slot>();
    slot->item.emplace(std::move(item));
    {
      std::lock_guard lock(mutex_);
      todo_.push_back(slot);
    }
    more_.notify_one();
    waiting_.push_back(std::move(slot));
    drain(most_);
  }

  // Waits until all results were consumed.
  void finish() { drain(0); }

 private:
  struct Slot {
    std::optional<In> item;
    std::optional<Out> result;
    std::exception_ptr error;
    bool done = false;
  };

  void serve() {
    while (auto slot = take()) {
      try {
        slot->result.emplace(work_(std::move(*slot->item)));
      } catch (...) {
        slot->error = std::current_exception();
      }
      slot->item.reset();
      {
        std::lock_guard lock(mutex_);
        slot->done = true;
      }
      ready_.notify_one();
    }
  }

  std::shared_ptr<Slot> take() {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [this] { return ended_ || !todo_.empty(); });
    if (todo_.empty()) return nullptr;
    auto slot = todo_.front();
    todo_.pop_front();
    return slot;
  }

  // Consumes finished results at the front, and waits while more than `most` items are in progress.
  void drain(std::size_t most) {
    while (!waiting_.empty()) {
      {
        std::unique_lock lock(mutex_);
        if (!waiting_.front()->done && waiting_.size() <= most) return;
        ready_.wait(lock, [this] { return waiting_.front()->done; });
      }
      auto slot = std::move(waiting_.front());
      waiting_.pop_front();
      if (slot->error) std::rethrow_exception(slot->error);
      consume_(std::move(*slot->result));
    }
  }

  std::function<Out(In)> work_;
  std::function<void(Out)> consume_;
  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::condition_variable ready_;
  std::deque<std::shared_ptr<Slot>> todo_;
  std::deque<std::shared_ptr<Slot>> waiting_;  // of the pushing thread alone
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace kw::dataset
