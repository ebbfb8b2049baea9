// One verdict's lease of its device: a share, or all of it once the device was drained.
#pragma once

#include <utility>

#include "engine/lease.h"

namespace kw::verify {

class DeviceShare {
 public:
  explicit DeviceShare(engine::LeaseDesk& desk) : desk_(desk) {}

  async::Task<> take() { lease_ = co_await desk_.share(); }
  // Waits until nobody else uses the device.
  async::Task<> drain() {
    if (alone_) co_return;
    lease_ = co_await desk_.all_instead_of(std::move(lease_));
    alone_ = true;
  }
  void give_back() { lease_.give_back(); }

  bool is_alone() const { return alone_; }
  bool has_others() const { return desk_.has_others(); }

 private:
  engine::LeaseDesk& desk_;
  engine::Lease lease_;
  bool alone_ = false;
};

}  // namespace kw::verify
