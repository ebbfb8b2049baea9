// Addresses, memory, copies and fills of the fake driver.
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>

#include "fake_functions.h"

namespace kw::fake {
namespace {

constexpr std::size_t page_bytes = 65536;

void fill_addresses(driver::Driver& table) {
  table.cuMemAddressReserve = [](CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr hint,
                                 unsigned long long) -> CUresult {
    *address = current->memory.reserve(current->hints_honoured ? hint : 0, bytes);
    return *address == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
  };
  table.cuMemAddressFree = [](CUdeviceptr address, size_t) -> CUresult {
    current->memory.free(address);
    return CUDA_SUCCESS;
  };
  table.cuMemMap = [](CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle handle,
                      unsigned long long) -> CUresult {
    bool whole = address % page_bytes == 0 && bytes % page_bytes == 0;
    bool done = whole && current->memory.map(address, bytes, current->handles.at(handle));
    return done ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  table.cuMemUnmap = [](CUdeviceptr address, size_t bytes) -> CUresult {
    return current->memory.unmap(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  table.cuMemSetAccess = [](CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) -> CUresult {
    return CUDA_SUCCESS;
  };
}

void fill_allocation(driver::Driver& table) {
  table.cuMemGetAllocationGranularity = [](size_t* bytes, const CUmemAllocationProp*,
                                           CUmemAllocationGranularity_flags) -> CUresult {
    *bytes = page_bytes;
    return CUDA_SUCCESS;
  };
  table.cuMemGetInfo = [](size_t* free, size_t* total) -> CUresult {
    *free = current->free_bytes;
    *total = current->free_bytes;
    return CUDA_SUCCESS;
  };
  table.cuMemCreate = [](CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp*,
                         unsigned long long) -> CUresult {
    *handle = current->next_handle++;
    current->handles[*handle] = std::make_shared<std::string>(bytes, '\0');
    return current->answer("cuMemCreate");
  };
  table.cuMemRelease = [](CUmemGenericAllocationHandle handle) -> CUresult {
    return current->handles.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  table.cuMemImportFromShareableHandle = [](CUmemGenericAllocationHandle* handle, void* descriptor,
                                            CUmemAllocationHandleType) -> CUresult {
    struct stat info{};
    ::fstat(static_cast<int>(reinterpret_cast<std::uintptr_t>(descriptor)), &info);
    auto found = current->exports.find(info.st_ino);
    if (found == current->exports.end()) return CUDA_ERROR_INVALID_VALUE;
    *handle = current->next_handle++;
    current->handles[*handle] = found->second;
    return CUDA_SUCCESS;
  };
  table.cuMemAlloc = [](CUdeviceptr* address, size_t bytes) -> CUresult {
    *address = current->memory.reserve(0, bytes);
    current->memory.map(*address, bytes, std::make_shared<std::string>(bytes, '\0'));
    return CUDA_SUCCESS;
  };
  table.cuMemFree = [](CUdeviceptr address) -> CUresult {
    current->memory.free(address);
    return CUDA_SUCCESS;
  };
  table.cuMemHostAlloc = [](void** address, size_t bytes, unsigned) -> CUresult {
    *address = std::calloc(bytes, 1);
    return CUDA_SUCCESS;
  };
  table.cuMemFreeHost = [](void* address) -> CUresult {
    std::free(address);
    return CUDA_SUCCESS;
  };
  table.cuMemHostGetDevicePointer = [](CUdeviceptr* device, void* host, unsigned) -> CUresult {
    *device = reinterpret_cast<CUdeviceptr>(host);
    return CUDA_SUCCESS;
  };
}

CUresult copy_within(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  std::string held(bytes, '\0');
  return mapped_or(current->memory.read(from, held.data(), bytes) &&
                   current->memory.write(to, held.data(), bytes));
}

void fill_copies(driver::Driver& table) {
  table.cuMemcpyDtoH = [](void* to, CUdeviceptr from, size_t bytes) -> CUresult {
    return mapped_or(current->memory.read(from, to, bytes));
  };
  table.cuMemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) -> CUresult {
    return current->enqueue(stream, "cuMemcpyDtoDAsync",
                            at_once([=] { return copy_within(to, from, bytes); }));
  };
  table.cuMemcpyHtoDAsync = [](CUdeviceptr to, const void* from, size_t bytes, CUstream stream) -> CUresult {
    // Like the driver: pageable memory is read before the call returns.
    std::string held(static_cast<const char*>(from), bytes);
    return current->enqueue(stream, "cuMemcpyHtoDAsync", at_once([=] {
                              return mapped_or(current->memory.write(to, held.data(), held.size()));
                            }));
  };
  table.cuMemcpyDtoHAsync = [](void* to, CUdeviceptr from, size_t bytes, CUstream stream) -> CUresult {
    return current->enqueue(stream, "cuMemcpyDtoHAsync",
                            at_once([=] { return mapped_or(current->memory.read(from, to, bytes)); }));
  };
  table.cuMemcpy2DAsync = [](const CUDA_MEMCPY2D* copy, CUstream stream) -> CUresult {
    return current->enqueue(stream, "cuMemcpy2DAsync", at_once([what = *copy] {
                              CUresult result = CUDA_SUCCESS;
                              for (size_t row = 0; row < what.Height && result == CUDA_SUCCESS; ++row)
                                result = copy_within(what.dstDevice + row * what.dstPitch,
                                                     what.srcDevice + row * what.srcPitch, what.WidthInBytes);
                              return result;
                            }));
  };
}

template <typename Element>
CUresult fill_rows(CUdeviceptr to, size_t pitch, Element value, size_t columns, size_t rows,
                   CUstream stream) {
  return current->enqueue(stream, "fill", at_once([=] {
                            std::vector<Element> row(columns, value);
                            bool done = true;
                            for (size_t i = 0; i < rows && done; ++i)
                              done = current->memory.write(to + i * pitch, row.data(),
                                                           columns * sizeof(Element));
                            return mapped_or(done);
                          }));
}

template <typename Element>
CUresult fill_row(CUdeviceptr to, Element value, size_t columns, CUstream stream) {
  return fill_rows(to, 0, value, columns, 1, stream);
}

}  // namespace

void fill_memory(driver::Driver& table) {
  fill_addresses(table);
  fill_allocation(table);
  fill_copies(table);
  table.cuMemsetD8Async = fill_row<unsigned char>;
  table.cuMemsetD16Async = fill_row<unsigned short>;
  table.cuMemsetD32Async = fill_row<unsigned>;
  table.cuMemsetD2D8Async = fill_rows<unsigned char>;
  table.cuMemsetD2D16Async = fill_rows<unsigned short>;
  table.cuMemsetD2D32Async = fill_rows<unsigned>;
}

}  // namespace kw::fake
