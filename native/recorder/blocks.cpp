#include "blocks.h"

#include <algorithm>
#include <iterator>

namespace kw::recorder {

std::uint64_t Blocks::extent(std::uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment + slack;
}

bool Blocks::alike(const Piece& a, const Piece& b) {
  return a.state == b.state && a.state != State::used && a.owner == b.owner;
}

void Blocks::enlist(Pieces::iterator piece) {
  if (piece->second.state == State::free)
    free_[piece->second.owner].emplace(piece->second.extent, piece->first);
}

void Blocks::delist(Pieces::iterator piece) {
  auto list = free_.find(piece->second.owner);
  if (list == free_.end()) return;
  list->second.erase({piece->second.extent, piece->first});
  if (list->second.empty()) free_.erase(list);
}

// Merges an unlisted piece with adjacent pieces of the same state and owner, and lists it.
void Blocks::merge(Pieces::iterator piece) {
  auto next = std::next(piece);
  if (next != pieces_.end() && piece->first + piece->second.extent == next->first &&
      alike(piece->second, next->second)) {
    delist(next);
    piece->second.extent += next->second.extent;
    pieces_.erase(next);
  }
  if (piece != pieces_.begin()) {
    auto previous = std::prev(piece);
    if (previous->first + previous->second.extent == piece->first && alike(previous->second, piece->second)) {
      delist(previous);
      previous->second.extent += piece->second.extent;
      pieces_.erase(piece);
      piece = previous;
    }
  }
  enlist(piece);
}

void Blocks::add(std::uint64_t address, std::uint64_t bytes) {
  merge(pieces_.insert_or_assign(address, Piece{.extent = bytes, .owner = {}}).first);
}

// Address of the smallest free piece of this owner that is large enough, or 0.
std::uint64_t Blocks::best(const Owner& owner, std::uint64_t extent) const {
  auto list = free_.find(owner);
  if (list == free_.end()) return 0;
  auto found = list->second.lower_bound({extent, 0});
  return found == list->second.end() ? 0 : found->second;
}

std::uint64_t Blocks::take(std::uint64_t address, std::uint64_t bytes, const Owner& owner) {
  auto piece = pieces_.find(address);
  delist(piece);
  std::uint64_t wanted = extent(bytes);
  if (piece->second.extent > wanted) {
    Piece rest = piece->second;
    rest.extent -= wanted;
    enlist(pieces_.emplace(address + wanted, rest).first);
  }
  piece->second = {.extent = wanted, .bytes = bytes, .state = State::used, .shared = false, .owner = owner};
  allocated_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, allocated_bytes_);
  ++count_;
  return address;
}

std::uint64_t Blocks::allocate(std::uint64_t bytes, std::uint64_t stream, PoolId pool) {
  if (bytes > UINT64_MAX - alignment - slack) return 0;
  const Owner mine{pool, false, stream};
  const std::uint64_t wanted = extent(bytes);
  if (std::uint64_t own = best(mine, wanted)) return take(own, bytes, mine);
  // A pool takes only memory that no stream may still use: its graph runs later, on any stream.
  if (std::uint64_t common = best(Owner{}, wanted)) return take(common, bytes, mine);
  return 0;
}

bool Blocks::free(std::uint64_t address) {
  auto piece = pieces_.find(address);
  if (piece == pieces_.end() || piece->second.state != State::used) return false;
  allocated_bytes_ -= piece->second.bytes;
  piece->second.state = piece->second.shared ? State::waiting : State::free;
  piece->second.bytes = 0;
  piece->second.shared = false;
  merge(piece);
  return true;
}

void Blocks::used_by(std::uint64_t address, std::uint64_t stream) {
  auto piece = pieces_.find(address);
  if (piece != pieces_.end() && piece->second.state == State::used && piece->second.owner.stream != stream)
    piece->second.shared = true;
}

void Blocks::synchronised() {
  Pieces before;
  before.swap(pieces_);
  free_.clear();
  for (auto& [address, piece] : before) {
    if (piece.state == State::waiting) piece.state = State::free;
    if (piece.state == State::free && piece.owner.pool == general_pool) piece.owner = Owner{};
    auto last = pieces_.empty() ? pieces_.end() : std::prev(pieces_.end());
    if (last != pieces_.end() && last->first + last->second.extent == address && alike(last->second, piece))
      last->second.extent += piece.extent;
    else
      pieces_.emplace_hint(pieces_.end(), address, piece);
  }
  for (auto piece = pieces_.begin(); piece != pieces_.end(); ++piece) enlist(piece);
}

void Blocks::begin_pool(PoolId pool) {
  ++pools_[pool];
}

void Blocks::release_pool(PoolId pool) {
  auto known = pools_.find(pool);
  if (known == pools_.end() || --known->second > 0) return;
  pools_.erase(known);
  // A graph that used the memory may still run, so the memory waits for synchronised(), as do blocks freed
  // later.
  for (auto piece = pieces_.begin(); piece != pieces_.end(); ++piece) {
    if (piece->second.owner.pool != pool) continue;
    if (piece->second.state == State::free) delist(piece);
    piece->second.owner = Owner{general_pool, false, piece->second.owner.stream};
    if (piece->second.state == State::used)
      piece->second.shared = true;
    else
      piece->second.state = State::waiting;
  }
}

std::uint64_t Blocks::free_at_end() const {
  if (pieces_.empty()) return 0;
  const Piece& last = pieces_.rbegin()->second;
  return last.state == State::free && last.owner == Owner{} ? last.extent : 0;
}

Allocation Blocks::containing(std::uint64_t address) const {
  auto after = pieces_.upper_bound(address);
  if (after == pieces_.begin()) return {};
  auto piece = std::prev(after);
  if (piece->second.state != State::used || address - piece->first >= piece->second.extent) return {};
  return {piece->first, piece->second.bytes};
}

std::vector<Allocation> Blocks::allocations() const {
  std::vector<Allocation> all;
  for (const auto& [address, piece] : pieces_)
    if (piece.state == State::used) all.push_back({address, piece.bytes});
  return all;
}

std::vector<Allocation> Blocks::pools() const {
  std::vector<Allocation> all;
  for (const auto& [address, piece] : pieces_)
    if (piece.owner.pool != general_pool) all.push_back({address, piece.extent});
  return all;
}

}  // namespace kw::recorder
