#include "machine.h"

#include <dlfcn.h>

#include <mutex>

namespace kw::recorder {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& place) {
  place = reinterpret_cast<Function>(::dlsym(library, name));
  return place != nullptr;
}

}  // namespace

const char* load(Cupti& cupti) {
  // CUPTI allows one subscriber per process, so PyTorch's copy of the library is used if it is loaded.
  void* library = ::dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) library = ::dlopen("libcupti.so.13", RTLD_NOW);
  if (library == nullptr) return "libcupti.so.13";
#define KW_FIND(name) \
  if (!find(library, #name, cupti.name)) return #name;
  KW_CUPTI_FUNCTIONS(KW_FIND)
#undef KW_FIND
  return "";
}

namespace {

struct LastError {
  std::mutex mutex;
  std::string text;
};

LastError& last_error() {
  static auto* one = new LastError;
  return *one;
}

}  // namespace

thread_local int Quiet::depth_ = 0;

Machine& machine() {
  static auto* one = new Machine;  // never destroyed: PyTorch still calls while the process ends
  return *one;
}

bool need_driver() {
  static std::mutex loading;
  std::lock_guard lock(loading);
  Machine& all = machine();
  if (all.has_driver) return true;
  if (const char* missing = driver::load(all.driver); *missing != '\0') {
    set_error(std::string("the CUDA driver lacks ") + missing);
    return false;
  }
  all.has_driver = true;
  return true;
}

void set_error(std::string what) {
  std::lock_guard lock(last_error().mutex);
  last_error().text = std::move(what);
}

bool succeeded(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return true;
  set_error(std::string(call) + ": " + driver::name_of(machine().driver, result));
  return false;
}

const char* error_text() {
  // One copy per thread: the pointer stays valid when another thread sets an error.
  static thread_local std::string copy;
  std::lock_guard lock(last_error().mutex);
  copy = last_error().text;
  return copy.c_str();
}

}  // namespace kw::recorder
