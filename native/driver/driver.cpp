#include "driver.h"

#include <dlfcn.h>

namespace kw::driver {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& place) {
  place = reinterpret_cast<Function>(::dlsym(library, name));
  return place != nullptr;
}

}  // namespace

const char* load(Driver& driver) {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return "libcuda.so.1";
#define KW_TEXT_(name) #name
#define KW_TEXT(name) KW_TEXT_(name)
#define KW_FIND(name) \
  if (!find(library, KW_TEXT(name), driver.name)) return KW_TEXT(name);
  KW_DRIVER_FUNCTIONS(KW_FIND)
#undef KW_FIND
#undef KW_TEXT
#undef KW_TEXT_
  return "";
}

const char* name_of(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  if (driver.cuGetErrorName == nullptr || driver.cuGetErrorName(result, &name) != CUDA_SUCCESS ||
      name == nullptr)
    return "an unknown error";
  return name;
}

}  // namespace kw::driver
