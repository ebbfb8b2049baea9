// Leases of a device: a share, or exclusive use.
#pragma once

#include <cstddef>
#include <memory>

#include "base/async/loop.h"

namespace kw::engine {

// Shares and exclusive leases of one device. While an exclusive lease is requested, no new share is given;
// exclusive leases then follow one another, so that one drain serves many timings.
class DeviceLeases {
  struct State;

 public:
  // Held until it is destroyed or released. It may outlive the leases.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { give_back(); }

    void give_back();
    explicit operator bool() const { return leases_ != nullptr; }

   private:
    friend class DeviceLeases;
    Lease(std::shared_ptr<State> leases, bool exclusive)
        : leases_(std::move(leases)), exclusive_(exclusive) {}

    std::shared_ptr<State> leases_;
    bool exclusive_ = false;
  };

  DeviceLeases(async::Loop& loop, std::size_t shares);

  // Empty only if the wait was cancelled.
  async::Task<Lease> share();
  async::Task<Lease> all();

  // Upgrades a share to an exclusive lease. It enters the queue before it releases the share, so that no
  // later request precedes it.
  async::Task<Lease> all_instead_of(Lease share);

  // Whether another holder has a share or any request is waiting; for a holder of a share.
  bool has_others() const;

 private:
  struct Turn;

  std::shared_ptr<State> state_;
};

using Lease = DeviceLeases::Lease;

}  // namespace kw::engine
