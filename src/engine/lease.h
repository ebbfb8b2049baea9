// The right to use a share of a device, or all of it.
#pragma once

#include <cstddef>
#include <memory>

#include "async/loop.h"

namespace kw::engine {

// Shares and exclusive leases of one device. While someone waits for all of it no new share is given, and
// those who wait for all of it then follow one another: a drain is paid once for many timings, not for each.
class LeaseDesk {
  struct State;

 public:
  // Held until destroyed or given back. It may outlive the desk.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { give_back(); }

    void give_back();
    explicit operator bool() const { return desk_ != nullptr; }

   private:
    friend class LeaseDesk;
    Lease(std::shared_ptr<State> desk, bool exclusive) : desk_(std::move(desk)), exclusive_(exclusive) {}

    std::shared_ptr<State> desk_;
    bool exclusive_ = false;
  };

  LeaseDesk(async::Loop& loop, std::size_t shares);

  // Empty only where the wait was cancelled.
  async::Task<Lease> share();
  async::Task<Lease> all();

  // From a share to all of it, in line before the share is given back: nobody who comes later slips in
  // between.
  async::Task<Lease> all_instead_of(Lease share);

  // Whether someone else has a share, for one who holds one, or waits for anything.
  bool has_others() const;

 private:
  struct Turn;

  std::shared_ptr<State> state_;
};

using Lease = LeaseDesk::Lease;

}  // namespace kw::engine
