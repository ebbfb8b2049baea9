// What CUDA units need of their own file, and the launches of the whole origin.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "harvest/modules.h"

namespace kw::harvest {

class CudaOrigin {
 public:
  explicit CudaOrigin(const Files& files);

  // The units of one file, complete but for their ids.
  void link(std::size_t file, std::vector<corpus::Unit>& units) const;

 private:
  struct Kernel {
    std::size_t file = 0;
    std::size_t unit = 0;
    auto operator<=>(const Kernel&) const = default;
  };
  using Items = std::map<std::string, std::vector<std::size_t>, std::less<>>;

  void attach(std::size_t file, const PendingLaunch& launch);
  void add_context(std::size_t file, const PendingUnit& pending, const Items& items,
                   corpus::Unit& unit) const;

  const Files& files_;
  std::map<std::string, std::vector<Kernel>> kernels_;  // by name
  std::map<Kernel, std::vector<corpus::Launch>> launches_;
  std::unordered_set<std::string> names_of_files_;
};

}  // namespace kw::harvest
