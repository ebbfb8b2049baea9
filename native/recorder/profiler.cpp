#include "profiler.h"

#include <dlfcn.h>

namespace kw::recorder {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& place) {
  place = reinterpret_cast<Function>(::dlsym(library, name));
  return place != nullptr;
}

}  // namespace

const char* load(Cupti& cupti) {
  // Two copies of CUPTI in one process would fight over the one subscriber: PyTorch's own comes first.
  void* library = ::dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) library = ::dlopen("libcupti.so.13", RTLD_NOW);
  if (library == nullptr) return "libcupti.so.13";
#define KW_FIND(name) \
  if (!find(library, #name, cupti.name)) return #name;
  KW_CUPTI_FUNCTIONS(KW_FIND)
#undef KW_FIND
  return "";
}

}  // namespace kw::recorder
