// The way of one file to the sink: what it is refused for, what is counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collect/collect.h"
#include "licence/licence.h"

namespace kw::collect {

class Gate {
 public:
  Gate(const Limits& limits, const Sink& sink) : limits_(limits), sink_(sink) {}

  const Limits& limits() const { return limits_; }
  bool wants(const std::string& path) const { return !sink_.wants || sink_.wants(path); }

  void see(std::uint64_t bytes);
  void skip(const corpus::Origin& origin, const std::string& path, std::string reason,
            std::string detail = {});
  // Binary files and those that are not UTF-8 are passed over here.
  void offer(const corpus::Origin& origin, const std::string& path, std::string bytes,
             const licence::Tree& tree);

  const Tally& tally() const { return tally_; }

 private:
  const Limits& limits_;
  const Sink& sink_;
  Tally tally_;
};

}  // namespace kw::collect
