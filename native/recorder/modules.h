// The cubin of a kernel. CUPTI reports every module's image as it is loaded; a CUmodule is connected with
// its image where the load is seen from outside, and by the kernel's name where the runtime loads by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "machine.h"

namespace kw::recorder {

// Names of the kernels and device functions: its sections .text.NAME. Empty if it is no 64-bit ELF file.
std::vector<std::string> kernel_names(std::span<const std::uint8_t> image);

// The length of an image according to its own tables; 0 if it is no 64-bit ELF file.
std::size_t image_bytes(const void* image);

// The cubin of each kernel. CUPTI reports every module's image as it is loaded. A CUmodule is connected with
// its image by the driver call that loads it, or by a kernel's name if the runtime loads it without such a
// call.
struct Image {
  std::vector<std::uint8_t> bytes;
  std::uint64_t key = 0;  // hash of the content; images of equal key are compared
  std::unordered_set<std::string> kernels;
  bool unloaded = false;  // no module uses it any more
};

// A kernel as the driver knows it.
struct Kernel {
  CUfunction function = nullptr;
  CUmodule module = nullptr;
  std::string name;
  const Image* image = nullptr;  // null: not known
};

class Modules {
 public:
  // For MODULE_LOADED and the driver call around it: the image that this thread loaded last belongs to the
  // module that the call returns.
  void loaded(const void* image, std::size_t bytes);
  void loading();
  void is(CUmodule module, const void* image_of_caller);
  void unloaded(CUmodule module);

  // Notes a CUkernel: the runtime passes one in place of a CUfunction.
  void is_kernel(CUkernel kernel);

  // `handle` is a CUfunction or a CUkernel. `symbol` is its name if the driver has none; may be null.
  Kernel find(CUfunction handle, const char* symbol);

 private:
  Image* keep(const void* image, std::size_t bytes);
  Image* by_name(CUmodule module, const std::string& name);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Image>> images_;  // never freed: recordings refer to them
  std::unordered_multimap<std::uint64_t, Image*> by_key_;
  std::unordered_multimap<std::string, Image*> by_kernel_;
  std::unordered_map<CUmodule, Image*> of_module_;
  std::unordered_set<CUkernel> kernels_;
  static thread_local Image* last_;
};

Modules& modules();

}  // namespace kw::recorder
