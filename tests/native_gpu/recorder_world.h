// A process with the recorder in it, on a machine without a GPU: the driver's functions are fakes, device
// memory is host memory at the same addresses, and tests report driver calls to the recorder directly.
#pragma once

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "calls.h"
#include "image.h"
#include "recorder.h"
#include "verify/recording/recording.h"

namespace kw::recorder {

struct FakeKernel {
  CUmodule module = nullptr;
  std::string name;
  std::vector<std::size_t> sizes;  // of its parameters, each at a multiple of its size
};

struct FakeNode {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUDA_KERNEL_NODE_PARAMS kernel{};
  CUDA_MEMSET_NODE_PARAMS fill{};
  CUDA_MEMCPY3D copy{};
};

class World {
 public:
  World();
  ~World();

  // A module with this image, loaded through cuModuleLoadData; the kernel in it.
  CUfunction load(const std::string& kernel, std::vector<std::size_t> sizes = {8, 4},
                  const std::vector<std::pair<std::string, std::string>>& variables = {});
  std::uint64_t allocate(std::uint64_t bytes, CUstream stream = nullptr);

  void begin(CUstream stream = nullptr);
  // The recording, verified as by any reader.
  recording::RecordingT ended();
  // The same, with one operation more or fewer expected.
  std::string obstacles(const recording::RecordingT& recording) const;

  // A driver call with this result. `stream` is the work of the call itself in between.
  template <typename Parameters>
  void call(CUpti_CallbackId id, const char* name, const Parameters& parameters,
            CUresult result = CUDA_SUCCESS) {
    told(CUPTI_API_ENTER, id, name, &parameters, result);
    told(CUPTI_API_EXIT, id, name, &parameters, result);
  }
  void told(CUpti_ApiCallbackSite site, CUpti_CallbackId id, const char* name, const void* parameters,
            CUresult result);
  // add(float* at, int n), on a grid of 4 x 1 x 1.
  void launch(CUfunction kernel, std::uint64_t at, CUstream stream = nullptr, CUresult result = CUDA_SUCCESS);

  static CUstream stream(std::uintptr_t number) { return reinterpret_cast<CUstream>(number); }
  static CUevent event(std::uintptr_t number) { return reinterpret_cast<CUevent>(number); }

  // State that the driver's functions read.
  std::map<CUfunction, FakeKernel> kernels;
  std::map<CUmodule, std::map<std::string, std::string>> globals;
  std::set<CUstream> capturing;
  std::set<CUstream> non_blocking;
  std::set<std::uint64_t> foreign;  // addresses of cudaMalloc
  std::set<std::uint64_t> pinned;   // addresses of the host's
  std::vector<FakeNode> nodes;      // a graph's; a CUgraphNode is an index plus one
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  std::vector<std::string> calls;  // of the recorder's own calls, the few that tests check
  bool out_of_memory = false;
};

inline constexpr std::uint64_t arena_address = 0x500000000000;
inline constexpr std::uint64_t arena_bytes = 1U << 20U;

// The work of the n-th operation, which must be of that kind.
template <typename Work>
const Work& work(const recording::RecordingT& recording, std::size_t n) {
  const recording::WorkUnion& any = recording.operations.at(n)->work;
  const recording::Work wanted = recording::WorkUnionTraits<Work>::enum_value;
  if (any.type != wanted) throw std::runtime_error("another kind of work");
  return *static_cast<const Work*>(any.value);
}

}  // namespace kw::recorder
