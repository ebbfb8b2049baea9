#include "service/shelf.h"

namespace kw::service {

std::size_t Shelf::weight(const Record& record) {
  constexpr std::size_t bookkeeping = 256;
  return bookkeeping + record.id.size() + (record.verdict ? record.verdict->size() : 0);
}

void Shelf::put(const Record& record) {
  if (by_id_.contains(record.id)) return;
  records_.push_back(record);
  by_id_.emplace(records_.back().id, &records_.back());
  bytes_ += weight(record);
  while (bytes_ > most_) {
    bytes_ -= weight(records_.front());
    by_id_.erase(records_.front().id);
    records_.pop_front();
  }
}

const Record* Shelf::find(std::string_view id) const {
  auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

}  // namespace kw::service
