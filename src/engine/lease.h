// The right to use a share of a device, or all of it.
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "async/event.h"

namespace kw::engine {

class LeaseDesk;

// Held until destroyed or given back.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept : desk_(std::exchange(other.desk_, nullptr)), exclusive_(other.exclusive_) {}
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { give_back(); }
  void give_back();

 private:
  friend class LeaseDesk;
  Lease(LeaseDesk* desk, bool exclusive) : desk_(desk), exclusive_(exclusive) {}

  LeaseDesk* desk_ = nullptr;
  bool exclusive_ = false;
};

// Shares and exclusive leases of one device. While someone waits for all of it no new share is given, and
// those who wait for all of it then follow one another: a drain is paid once for many timings, not for each.
class LeaseDesk {
 public:
  LeaseDesk(async::Loop& loop, std::size_t shares) : loop_(loop), shares_(shares) {}

  async::Task<Lease> share();
  async::Task<Lease> all();

  // From a share to all of it, in line before the share is given back: nobody who comes later slips in
  // between.
  async::Task<Lease> all_instead_of(Lease share);

  // Whether someone else has a share, for one who holds one, or waits for anything.
  bool has_others() const { return shared_ > 1 || !for_share_.empty() || !for_all_.empty(); }

 private:
  friend class Lease;
  void give_back(bool exclusive);
  void admit();

  async::Loop& loop_;
  std::size_t shares_;
  std::size_t shared_ = 0;
  bool exclusive_ = false;
  std::deque<std::shared_ptr<async::Event>> for_share_;
  std::deque<std::shared_ptr<async::Event>> for_all_;
};

}  // namespace kw::engine
