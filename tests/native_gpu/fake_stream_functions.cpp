// Streams, events, modules and launches of the fake driver.
#include <algorithm>
#include <bit>
#include <cstring>

#include "fake_functions.h"

namespace kw::fake {
namespace {

CUresult make_stream(CUstream* stream) {
  *stream = new_handle<CUstream>();
  current->streams[*stream] = std::make_unique<FakeDriver::Stream>();
  current->stream_order.push_back(*stream);
  return CUDA_SUCCESS;
}

CUresult record(CUevent event, CUstream stream) {
  std::uint64_t version = ++current->events.at(event).asked;
  return current->enqueue(stream, "cuEventRecord",
                          at_once(
                              [=] {
                                auto& it = current->events.at(event);
                                it.come.insert(version);
                                it.ms = current->now_ms;
                                return CUDA_SUCCESS;
                              },
                              0));
}

CUresult wait_event(CUstream stream, CUevent event, unsigned) {
  std::uint64_t version = current->events.at(event).asked;
  return current->enqueue(
      stream, "cuStreamWaitEvent",
      {[=] { return current->events.at(event).come.contains(version); }, [] { return CUDA_SUCCESS; }, 0});
}

CUresult wait_value(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  auto* word = std::bit_cast<std::uint32_t*>(address);
  CUresult result = current->enqueue(stream, "cuStreamWaitValue32",
                                     {[=] { return *word == value; }, [] { return CUDA_SUCCESS; }, 0});
  current->gate_word = word;
  current->gate_value = value;
  current->behind_gate = 0;
  return result;
}

CUresult write_value(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  return current->enqueue(stream, "cuStreamWriteValue32",
                          at_once(
                              [=] {
                                *std::bit_cast<std::uint32_t*>(address) = value;
                                return CUDA_SUCCESS;
                              },
                              0));
}

std::uint64_t aligned(std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t unit = std::min<std::uint64_t>(size, 8);
  return (offset + unit - 1) / unit * unit;
}

Run as_given(const Kernel& kernel, void** parameters, void** extra) {
  Run run{current->memory, {}, {}};
  const char* packed = extra == nullptr ? nullptr : static_cast<const char*>(extra[1]);
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) {
    offset = aligned(offset, kernel.sizes[i]);
    const void* given = packed != nullptr ? packed + offset : parameters[i];
    const std::string& bytes = run.bytes.emplace_back(static_cast<const char*>(given), kernel.sizes[i]);
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
    run.parameters.push_back(value);
    offset += kernel.sizes[i];
  }
  return run;
}

CUresult launch(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  std::string name = current->functions.at(function);
  const Kernel& kernel = current->kernels.at(name);
  auto run = std::make_shared<Run>(as_given(kernel, parameters, extra));
  auto act = [=, body = kernel.body] {
    current->ran.push_back(name);
    return body(*run);
  };
  return current->enqueue(config->hStream, name.c_str(),
                          {[=, waits = kernel.waits] { return !waits(*run); }, act, kernel.ms});
}

CUresult parameter(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  const Kernel& kernel = current->kernels.at(current->functions.at(function));
  if (index >= kernel.sizes.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = 0;
  for (std::size_t i = 0; i <= index; ++i) {
    *offset = aligned(*offset, kernel.sizes[i]);
    if (i < index) *offset += kernel.sizes[i];
  }
  *bytes = kernel.sizes[index];
  return CUDA_SUCCESS;
}

void fill_context(driver::Driver& table) {
  table.cuInit = [](unsigned) -> CUresult { return current->answer("cuInit"); };
  table.cuDriverGetVersion = [](int* version) -> CUresult { return *version = 13000, CUDA_SUCCESS; };
  table.cuGetErrorName = [](CUresult result, const char** name) -> CUresult {
    *name = result == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OF_A_TEST";
    return CUDA_SUCCESS;
  };
  table.cuDeviceGet = [](CUdevice* device, int ordinal) -> CUresult {
    return *device = ordinal, CUDA_SUCCESS;
  };
  table.cuDeviceGetName = [](char* name, int, CUdevice) -> CUresult {
    return std::strcpy(name, "Fake"), CUDA_SUCCESS;
  };
  table.cuDeviceGetAttribute = [](int* value, CUdevice_attribute, CUdevice) -> CUresult {
    return *value = 9, CUDA_SUCCESS;
  };
  table.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) -> CUresult {
    return *context = new_handle<CUcontext>(), CUDA_SUCCESS;
  };
  table.cuCtxSetCurrent = [](CUcontext) -> CUresult { return CUDA_SUCCESS; };
  table.cuCtxSynchronize = []() -> CUresult { return current->drain(nullptr); };
}

}  // namespace

void fill_streams(driver::Driver& table) {
  table.cuStreamCreate = [](CUstream* stream, unsigned) -> CUresult { return make_stream(stream); };
  table.cuStreamCreateWithPriority = [](CUstream* stream, unsigned, int) -> CUresult {
    return make_stream(stream);
  };
  table.cuStreamDestroy = [](CUstream stream) -> CUresult {
    std::erase(current->stream_order, stream);
    return current->streams.erase(stream) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  };
  table.cuStreamSynchronize = [](CUstream stream) -> CUresult {
    return current->drain(current->streams.at(stream).get());
  };
  table.cuStreamQuery = [](CUstream stream) -> CUresult {
    const CUresult result = current->drain(current->streams.at(stream).get());
    return result == CUDA_ERROR_LAUNCH_TIMEOUT ? CUDA_ERROR_NOT_READY : result;
  };
  table.cuStreamWaitEvent = wait_event;
  table.cuStreamWaitValue32 = wait_value;
  table.cuStreamWriteValue32 = write_value;
  table.cuEventCreate = [](CUevent* event, unsigned) -> CUresult {
    *event = new_handle<CUevent>();
    current->events[*event] = {};
    return CUDA_SUCCESS;
  };
  table.cuEventDestroy = [](CUevent event) -> CUresult { return current->events.erase(event), CUDA_SUCCESS; };
  table.cuEventRecord = record;
  table.cuEventElapsedTime = [](float* ms, CUevent begin, CUevent end) -> CUresult {
    *ms = static_cast<float>(current->events.at(end).ms - current->events.at(begin).ms);
    return CUDA_SUCCESS;
  };
  table.cuLaunchKernelEx = launch;
}

void fill_modules(driver::Driver& table) {
  table.cuModuleLoadData = [](CUmodule* module, const void*) -> CUresult {
    return *module = new_handle<CUmodule>(), current->answer("cuModuleLoadData");
  };
  table.cuModuleUnload = [](CUmodule) -> CUresult { return CUDA_SUCCESS; };
  table.cuModuleGetFunction = [](CUfunction* function, CUmodule, const char* name) -> CUresult {
    if (!current->kernels.contains(name)) return CUDA_ERROR_NOT_FOUND;
    *function = new_handle<CUfunction>();
    current->functions[*function] = name;
    return CUDA_SUCCESS;
  };
  table.cuModuleGetGlobal = [](CUdeviceptr* address, size_t* bytes, CUmodule, const char* name) -> CUresult {
    auto found = current->variables.find(name);
    if (found == current->variables.end()) return CUDA_ERROR_NOT_FOUND;
    *address = found->second.first;
    *bytes = found->second.second;
    return CUDA_SUCCESS;
  };
  table.cuFuncLoad = [](CUfunction) -> CUresult { return CUDA_SUCCESS; };
  table.cuFuncGetParamInfo = parameter;
  table.cuFuncGetAttribute = [](int* value, CUfunction_attribute which, CUfunction) -> CUresult {
    *value = which == CU_FUNC_ATTRIBUTE_NUM_REGS ? 40 : which == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES ? 16 : 0;
    return CUDA_SUCCESS;
  };
  table.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute, int) -> CUresult { return CUDA_SUCCESS; };
}

void fill_table(driver::Driver& table) {
  fill_context(table);
  fill_memory(table);
  fill_modules(table);
  fill_streams(table);
}

}  // namespace kw::fake
