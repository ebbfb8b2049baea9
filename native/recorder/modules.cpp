#include "modules.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "cubin_image.h"

namespace kw::recorder {
namespace {

// Quick, and good enough to find equal images: those that share a key are compared byte by byte.
std::uint64_t content_key(const std::uint8_t* bytes, std::size_t count) {
  constexpr std::uint64_t prime = 1099511628211U;
  std::uint64_t key = 14695981039346656037U ^ count;
  std::size_t at = 0;
  for (; at + 8 <= count; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, 8);
    key = (key ^ word) * prime;
    key ^= key >> 29U;
  }
  for (; at < count; ++at) key = (key ^ bytes[at]) * prime;
  return key;
}

}  // namespace

thread_local Image* Modules::last_ = nullptr;

Image* Modules::keep(const void* image, std::size_t bytes) {
  if (image == nullptr || bytes == 0) return nullptr;
  const auto* start = static_cast<const std::uint8_t*>(image);
  const std::uint64_t key = content_key(start, bytes);
  std::lock_guard lock(mutex_);
  auto [first, last] = by_key_.equal_range(key);
  for (auto known = first; known != last; ++known)
    if (known->second->bytes.size() == bytes && std::memcmp(known->second->bytes.data(), start, bytes) == 0) {
      known->second->unloaded = false;
      return known->second;
    }
  auto fresh = std::make_unique<Image>();
  fresh->bytes.assign(start, start + bytes);
  fresh->key = key;
  for (std::string& name : kernel_names(fresh->bytes)) {
    by_kernel_.emplace(name, fresh.get());
    fresh->kernels.insert(std::move(name));
  }
  by_key_.emplace(key, fresh.get());
  images_.push_back(std::move(fresh));
  return images_.back().get();
}

void Modules::loaded(const void* image, std::size_t bytes) {
  last_ = keep(image, bytes);
}

void Modules::loading() {
  last_ = nullptr;
}

void Modules::is(CUmodule module, const void* image_of_caller) {
  Image* image = last_;
  if (image == nullptr) image = keep(image_of_caller, image_bytes(image_of_caller));
  std::lock_guard lock(mutex_);
  if (image != nullptr) of_module_[module] = image;
}

void Modules::unloaded(CUmodule module) {
  std::lock_guard lock(mutex_);
  auto known = of_module_.find(module);
  if (known == of_module_.end()) return;
  Image* image = known->second;
  of_module_.erase(known);
  image->unloaded =
      std::ranges::none_of(of_module_, [&](const auto& other) { return other.second == image; });
}

void Modules::is_kernel(CUkernel kernel) {
  std::lock_guard lock(mutex_);
  kernels_.insert(kernel);
}

// The image of a module whose load was not seen, by a kernel in it. Of several the newest that no other
// module has.
Image* Modules::by_name(CUmodule module, const std::string& name) {
  std::unordered_set<const Image*> taken;
  for (const auto& [other, image] : of_module_)
    if (other != module) taken.insert(image);
  Image* found = nullptr;
  for (const auto& image : images_) {
    if (image->unloaded || !image->kernels.contains(name)) continue;
    if (found == nullptr || taken.contains(found) || !taken.contains(image.get())) found = image.get();
  }
  return found;
}

Kernel Modules::find(CUfunction handle, const char* symbol) {
  const driver::Driver& cuda = machine().driver;
  Kernel kernel{.function = handle, .name = symbol == nullptr ? "" : symbol};
  auto* as_kernel = reinterpret_cast<CUkernel>(handle);
  bool known_kernel = false;
  {
    std::lock_guard lock(mutex_);
    known_kernel = kernels_.contains(as_kernel);
  }
  if (known_kernel || cuda.cuFuncGetModule(&kernel.module, handle) != CUDA_SUCCESS) {
    CUfunction function = nullptr;
    if (cuda.cuKernelGetFunction(&function, as_kernel) == CUDA_SUCCESS) {
      kernel.function = function;
      cuda.cuFuncGetModule(&kernel.module, function);
    }
  }
  const char* name = nullptr;
  if (cuda.cuFuncGetName(&name, kernel.function) == CUDA_SUCCESS && name != nullptr) kernel.name = name;

  std::lock_guard lock(mutex_);
  auto known = of_module_.find(kernel.module);
  if (known != of_module_.end() && known->second->kernels.contains(kernel.name)) {
    kernel.image = known->second;
    return kernel;
  }
  auto [first, last] = by_kernel_.equal_range(kernel.name);
  if (first == last) return kernel;
  Image* image = std::next(first) == last ? first->second : by_name(kernel.module, kernel.name);
  if (image != nullptr && kernel.module != nullptr && known == of_module_.end())
    of_module_[kernel.module] = image;
  kernel.image = image;
  return kernel;
}

Modules& modules() {
  static auto* one = new Modules;  // PyTorch still calls us while the process ends
  return *one;
}

}  // namespace kw::recorder
