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
  if (entries_.size() > kept) entries_.pop_back();
}

void ReferenceTapes::launched(const wire::ReplayableT& facts) {
  for (const auto& launch : facts.launches) library_cubins_.insert(launch->cubin_sha256);
}

}  // namespace kw::verify
