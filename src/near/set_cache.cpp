#include "near/set_cache.h"

namespace kw::near {

Result<Set> SetCache::at(std::uint32_t number) {
  Part& part = parts_[number % parts];
  if (Set set = find(part, number)) return set;
  auto text = text_(number);
  if (!text) return std::unexpected(text.error());
  auto set = std::make_shared<std::vector<std::uint64_t>>(shingle_set(*text, parameters_));
  set->shrink_to_fit();
  keep(part, number, set);
  return set;
}

// With what the list and the map take for it.
std::uint64_t SetCache::bytes_of(const Set& set) {
  return set->size() * sizeof(std::uint64_t) + 160;
}

Set SetCache::find(Part& part, std::uint32_t number) {
  std::scoped_lock lock(part.mutex);
  auto found = part.places.find(number);
  if (found == part.places.end()) return nullptr;
  part.latest_first.splice(part.latest_first.begin(), part.latest_first, found->second);
  return found->second->set;
}

void SetCache::keep(Part& part, std::uint32_t number, const Set& set) {
  std::uint64_t bytes = bytes_of(set);
  if (bytes > part_bytes_ / 8) return;
  std::scoped_lock lock(part.mutex);
  if (part.places.contains(number)) return;  // another thread was faster
  while (part.bytes + bytes > part_bytes_) {
    part.bytes -= bytes_of(part.latest_first.back().set);
    part.places.erase(part.latest_first.back().number);
    part.latest_first.pop_back();
  }
  part.latest_first.push_front({number, set});
  part.places.emplace(number, part.latest_first.begin());
  part.bytes += bytes;
}

}  // namespace kw::near
