// Which cubin a kernel comes from. CUPTI hands over every module's image as it is loaded; a CUmodule is
// connected with its image where the load is seen from outside, and by the kernel's name where the runtime
// loads by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "machine.h"

namespace kw::recorder {

struct Image {
  std::vector<std::uint8_t> bytes;
  std::uint64_t key = 0;  // of the content: finds an equal image, which is then compared
  std::unordered_set<std::string> kernels;
  bool unloaded = false;  // no module has it any more
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
  // MODULE_LOADED, and the call around it: what was loaded on this thread last belongs to the module it
  // returns.
  void loaded(const void* image, std::size_t bytes);
  void loading();
  void is(CUmodule module, const void* image_of_caller);
  void unloaded(CUmodule module);

  // The runtime passes a CUkernel where a CUfunction is asked for.
  void is_kernel(CUkernel kernel);

  // `handle`: a CUfunction or a CUkernel. `symbol` names it where the driver does not, may be null.
  Kernel find(CUfunction handle, const char* symbol);

 private:
  Image* keep(const void* image, std::size_t bytes);
  Image* by_name(CUmodule module, const std::string& name);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Image>> images_;  // never let go: recordings refer to them
  std::unordered_multimap<std::uint64_t, Image*> by_key_;
  std::unordered_multimap<std::string, Image*> by_kernel_;
  std::unordered_map<CUmodule, Image*> of_module_;
  std::unordered_set<CUkernel> kernels_;
  static thread_local Image* last_;
};

Modules& modules();

}  // namespace kw::recorder
