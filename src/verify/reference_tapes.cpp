#include "verify/reference_tapes.h"

#include <algorithm>

namespace kw::verify {

const ReferenceTapes::Entry* ReferenceTapes::find(const std::string& key) {
  auto found = std::ranges::find(entries_, key, &std::pair<std::string, Entry>::first);
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return &entries_.front().second;
}

void ReferenceTapes::put(const std::string& key, Entry entry) {
  std::erase_if(entries_, [&](const auto& each) { return each.first == key; });
  entries_.emplace_front(key, std::move(entry));
  make_room();
}

void ReferenceTapes::make_room() {
  constexpr std::uint64_t page_bytes = std::uint64_t{2} << 20;
  std::uint64_t state_bytes = 0;
  std::size_t keep = 0;
  for (const auto& [key, entry] : entries_) {
    std::uint64_t own = entry.tape ? entry.tape->recorded.facts.state_bytes : 0;
    state_bytes += (own + page_bytes - 1) / page_bytes * page_bytes;
    if (keep == most_kept || (keep > 0 && state_bytes > most_state_bytes)) break;
    ++keep;
  }
  entries_.resize(keep);
}

void ReferenceTapes::launched(const wire::ReplayableT& facts) {
  for (const auto& launch : facts.launches) library_cubins_.insert(launch->cubin_sha256);
}

}  // namespace kw::verify
