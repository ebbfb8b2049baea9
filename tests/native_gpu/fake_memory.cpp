#include "fake_memory.h"

#include <algorithm>
#include <cstring>

namespace kw::fake {

constexpr std::uint64_t page_bytes = std::uint64_t{2} << 20;

CUdeviceptr Memory::reserve(CUdeviceptr wanted, std::uint64_t bytes) {
  CUdeviceptr address = wanted != 0 ? wanted : next_;
  if (wanted == 0) next_ += bytes / page_bytes * page_bytes + (std::uint64_t{1} << 30);
  for (const auto& [begin, length] : reserved_)
    if (address < begin + length && begin < address + bytes) return 0;
  reserved_[address] = bytes;
  return address;
}

bool Memory::is_reserved(CUdeviceptr address, std::uint64_t bytes) const {
  return std::any_of(reserved_.begin(), reserved_.end(), [&](const auto& each) {
    return address >= each.first && address + bytes <= each.first + each.second;
  });
}

bool Memory::map(CUdeviceptr address, std::uint64_t bytes, Store store) {
  if (!is_reserved(address, bytes) || store->size() < bytes) return false;
  for (const auto& [begin, mapping] : mapped_)
    if (address < begin + mapping.bytes && begin < address + bytes) return false;
  mapped_[address] = {bytes, std::move(store)};
  return true;
}

bool Memory::unmap(CUdeviceptr address, std::uint64_t bytes) {
  auto found = mapped_.find(address);
  if (found == mapped_.end() || found->second.bytes != bytes) return false;
  mapped_.erase(found);
  return true;
}

std::pair<char*, std::uint64_t> Memory::at(CUdeviceptr address) const {
  auto after = mapped_.upper_bound(address);
  if (after == mapped_.begin()) return {nullptr, 0};
  const auto& [begin, mapping] = *std::prev(after);
  if (address >= begin + mapping.bytes) return {nullptr, 0};
  return {mapping.store->data() + (address - begin), begin + mapping.bytes - address};
}

bool Memory::is_mapped(CUdeviceptr address) const {
  return at(address).first != nullptr;
}

bool Memory::read(CUdeviceptr address, void* to, std::uint64_t bytes) const {
  auto* target = static_cast<char*>(to);
  while (bytes > 0) {
    auto [place, room] = at(address);
    if (place == nullptr) return false;
    std::uint64_t part = std::min(bytes, room);
    std::memcpy(target, place, part);
    target += part, address += part, bytes -= part;
  }
  return true;
}

bool Memory::write(CUdeviceptr address, const void* from, std::uint64_t bytes) {
  const auto* source = static_cast<const char*>(from);
  while (bytes > 0) {
    auto [place, room] = at(address);
    if (place == nullptr) return false;
    std::uint64_t part = std::min(bytes, room);
    std::memcpy(place, source, part);
    source += part, address += part, bytes -= part;
  }
  return true;
}

}  // namespace kw::fake
