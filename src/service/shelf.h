// Shelf: what was over last, in memory, since it is asked for right away.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "service/evaluation.h"

namespace kw::service {

class Shelf {
 public:
  explicit Shelf(std::size_t bytes) : most_(bytes) {}

  // The oldest go where there is no room.
  void put(const Record& record);
  const Record* find(std::string_view id) const;

 private:
  static std::size_t weight(const Record& record);

  std::size_t most_;
  std::size_t bytes_ = 0;
  std::list<Record> records_;  // the oldest first
  std::unordered_map<std::string_view, const Record*> by_id_;
};

}  // namespace kw::service
