// Marks: two words of page-locked memory that a stream writes before and after the work of a sample, while
// the host watches them. Device code can change the words and the stamps of events, but not the moment at
// which the host saw the first word, which is written before that code begins.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "device_memory.h"

namespace kw::replayer {

class Marks {
 public:
  static Outcome<Marks> make(const driver::Driver& driver);

  // The stream writes the first word here. Forgets the sample before.
  CUresult begin(CUstream stream);
  CUresult end(CUstream stream);

  // Watches until the stream has written both words or has ended without, for `limit` at most. The
  // milliseconds from the last look that did not find the first word to the first look that found the second
  // one. None if one is missing, if the first one was there before the first look, or if the host looked away
  // when it came.
  std::optional<double> watch(CUstream stream, std::chrono::milliseconds limit) const;

  // The words, each in a cache line of its own.
  std::atomic_ref<std::uint32_t> first() const { return word(0); }
  std::atomic_ref<std::uint32_t> second() const { return word(1); }
  std::uint32_t ticket() const { return ticket_; }

 private:
  explicit Marks(const driver::Driver& driver) : driver_(&driver) {}
  std::atomic_ref<std::uint32_t> word(std::size_t index) const;
  CUresult write(CUstream stream, std::size_t index) const;

  struct Look;
  std::optional<Look> watch_one(std::size_t index, CUstream stream, std::chrono::milliseconds limit) const;

  const driver::Driver* driver_;
  Pinned words_;
  CUdeviceptr address_ = 0;
  std::uint32_t ticket_ = 0;
};

}  // namespace kw::replayer
