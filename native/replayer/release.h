// Something that is given back once, when its owner goes.
#pragma once

#include <functional>
#include <utility>

namespace kw::replayer {

class Release {
 public:
  Release() = default;
  explicit Release(std::function<void()> action) : action_(std::move(action)) {}
  Release(Release&& other) noexcept : action_(std::exchange(other.action_, nullptr)) {}
  Release& operator=(Release&& other) noexcept {
    if (this != &other) {
      now();
      action_ = std::exchange(other.action_, nullptr);
    }
    return *this;
  }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;
  ~Release() { now(); }

  void now() {
    if (auto action = std::exchange(action_, nullptr)) action();
  }

 private:
  std::function<void()> action_;
};

}  // namespace kw::replayer
