#include "modules.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

namespace kw::recorder {
namespace {

constexpr std::uint64_t longest_image = std::uint64_t{1} << 30;

bool is_elf(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64;
}

template <typename Part>
Part read(const std::uint8_t* from) {
  Part part;
  std::memcpy(&part, from, sizeof part);
  return part;
}

// The section headers; none if they are not inside the image.
std::vector<Elf64_Shdr> sections(std::span<const std::uint8_t> image) {
  if (image.size() < sizeof(Elf64_Ehdr)) return {};
  auto header = read<Elf64_Ehdr>(image.data());
  if (!is_elf(header) || header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > image.size() ||
      (image.size() - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum)
    return {};
  std::vector<Elf64_Shdr> all;
  for (std::size_t i = 0; i < header.e_shnum; ++i)
    all.push_back(read<Elf64_Shdr>(image.data() + header.e_shoff + i * sizeof(Elf64_Shdr)));
  return all;
}

}  // namespace

std::vector<std::string> kernel_names(std::span<const std::uint8_t> image) {
  std::vector<Elf64_Shdr> all = sections(image);
  if (all.empty()) return {};
  auto header = read<Elf64_Ehdr>(image.data());
  if (header.e_shstrndx >= all.size()) return {};
  const Elf64_Shdr& names = all[header.e_shstrndx];
  if (names.sh_offset > image.size() || names.sh_size > image.size() - names.sh_offset) return {};
  std::string_view text(reinterpret_cast<const char*>(image.data() + names.sh_offset), names.sh_size);
  constexpr std::string_view prefix = ".text.";
  std::vector<std::string> found;
  for (const Elf64_Shdr& section : all) {
    if (section.sh_name >= text.size()) continue;
    std::string_view name = text.substr(section.sh_name);
    name = name.substr(0, name.find('\0'));
    if (name.starts_with(prefix)) found.emplace_back(name.substr(prefix.size()));
  }
  return found;
}

std::size_t image_bytes(const void* image) {
  if (image == nullptr || std::memcmp(image, ELFMAG, SELFMAG) != 0) return 0;
  const auto* start = static_cast<const std::uint8_t*>(image);
  auto header = read<Elf64_Ehdr>(start);
  if (!is_elf(header) || header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > longest_image) return 0;
  std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  end = std::max(end, header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    auto section = read<Elf64_Shdr>(start + header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end > longest_image ? 0 : end;
}

namespace {

// A fast hash for finding equal images. Images with equal keys are compared byte by byte.
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

// The image of a module whose load was not seen, found by one of its kernels. Among several, the newest one
// that no other module has.
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
  static auto* one = new Modules;  // never destroyed: PyTorch still calls while the process ends
  return *one;
}

}  // namespace kw::recorder
