// Queue: evaluations that wait for their turn, the more urgent first, equally urgent ones as they came.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "service/entry.h"

namespace kw::service {

class Queue {
 public:
  void push(const EntryPtr& entry);
  // The next one; null where none waits.
  EntryPtr pop();
  // Nothing where it does not wait here.
  void remove(const Entry& entry);
  // All whose work is this one, and who may share a verdict. They wait no longer.
  std::vector<EntryPtr> take_equal(const std::string& work_key);
  std::vector<EntryPtr> take_all();

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // How many come before it.
  std::size_t ahead_of(const Entry& entry) const;

 private:
  using InOrder = std::map<std::int64_t, EntryPtr>;
  void forget(const Entry& entry);

  std::map<int, InOrder, std::greater<>> by_priority_;
  std::unordered_map<std::string, InOrder> by_work_;  // those who may share
  std::size_t size_ = 0;
};

}  // namespace kw::service
