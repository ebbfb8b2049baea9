// The recordings of references: made once a task, replayed for each of its candidates.
#pragma once

#include <list>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "verify/player.h"

namespace kw::verify {

class ReferenceTapes {
 public:
  struct Entry {
    std::shared_ptr<const Tape> tape;  // null: it cannot be recorded or replayed,
    std::string why_not;               // and this is why
  };

  // What is known of this key, used last now; null: nothing yet.
  const Entry* find(const std::string& key);
  void put(const std::string& key, Entry entry);

  // SHA-256 of the machine code that eager references launch: PyTorch's and its libraries'.
  const std::set<std::string>& library_cubins() const { return library_cubins_; }
  void launched(const wire::ReplayableT& facts);

 private:
  void make_room();

  static constexpr std::size_t most_kept = 1024;
  // What may lie on the device: the state of references, in chunks of a page.
  static constexpr std::uint64_t most_state_bytes = std::uint64_t{2} << 30;
  std::set<std::string> library_cubins_;
  std::list<std::pair<std::string, Entry>> entries_;  // the last used first
};

}  // namespace kw::verify
