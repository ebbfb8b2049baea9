// Device memory for tests: address ranges, their mappings, and the bytes.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace kw::fake {

class Memory {
 public:
  using Store = std::shared_ptr<std::string>;

  // 0 where the wanted place is occupied.
  CUdeviceptr reserve(CUdeviceptr wanted, std::uint64_t bytes);
  void free(CUdeviceptr address) { reserved_.erase(address); }
  bool is_reserved(CUdeviceptr address, std::uint64_t bytes) const;
  bool map(CUdeviceptr address, std::uint64_t bytes, Store store);
  bool unmap(CUdeviceptr address, std::uint64_t bytes);

  // False where a byte of it is not mapped.
  bool read(CUdeviceptr address, void* to, std::uint64_t bytes) const;
  bool write(CUdeviceptr address, const void* from, std::uint64_t bytes);
  bool is_mapped(CUdeviceptr address) const;
  std::size_t mappings() const { return mapped_.size(); }

 private:
  struct Mapping {
    std::uint64_t bytes = 0;
    Store store;
  };
  // The mapped bytes from here on, and their number.
  std::pair<char*, std::uint64_t> at(CUdeviceptr address) const;

  std::map<CUdeviceptr, std::uint64_t> reserved_;
  std::map<CUdeviceptr, Mapping> mapped_;
  CUdeviceptr next_ = 0x700000000000;
};

}  // namespace kw::fake
