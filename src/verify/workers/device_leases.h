// Leases of a device: one of its shares, several, or all of them.
#pragma once

#include <cstddef>
#include <memory>

#include "base/async/loop.h"

namespace kw::engine {

// Shares of one device. A lease of all shares is an exclusive one. While one is requested, nobody gets a
// share anew; exclusive leases then follow one another, so that one drain serves many timings. A request for
// several shares lets as many single ones pass as the device has, so that what is free meanwhile is used.
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
    std::size_t shares() const { return leases_ ? shares_ : 0; }

    // Whether the holder calls step_aside() often, and leaves the device idle meanwhile.
    void set_yielding(bool yielding);

   private:
    friend class DeviceLeases;
    Lease(std::shared_ptr<State> leases, std::size_t shares) : leases_(std::move(leases)), shares_(shares) {}

    std::shared_ptr<State> leases_;
    std::size_t shares_ = 0;
    bool yielding_ = false;
  };

  DeviceLeases(async::Loop& loop, std::size_t shares);

  // Empty only if the wait was cancelled.
  async::Task<Lease> share();
  async::Task<Lease> all();

  // Upgrades a lease to an exclusive one. It enters the queue before it releases its shares, so that no
  // later request precedes it. Its holder keeps its device memory meanwhile, so it precedes every request for
  // several shares. Those who stepped aside keep theirs, too.
  async::Task<Lease> all_instead_of(Lease lease);

  // For a yielding lease, between two uses of the device: gives it up while exclusive leases are requested,
  // if the other holders yield too, and takes it again before anything but them. Its holder keeps its memory.
  async::Task<Lease> step_aside(Lease lease);
  bool calls_to_step_aside() const;  // whether it would wait

  // Several shares, at most all of them, for a holder of one that needs the device memory of so many. The
  // first takes them at once if they are free and nobody waits for more than one; the second releases the
  // share and waits.
  bool widen(Lease& share, std::size_t shares);
  async::Task<Lease> several_instead_of(Lease share, std::size_t shares);

  std::size_t size() const;  // all shares
  // Whether the holder of this lease is not the only one, or any request is waiting.
  bool has_others(const Lease& lease) const;

 private:
  struct Turn;

  std::shared_ptr<State> state_;
};

using Lease = DeviceLeases::Lease;

}  // namespace kw::engine
