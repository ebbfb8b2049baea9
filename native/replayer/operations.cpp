// The operations of a recording, each as one call of the driver.
#include "slot.h"

namespace kw::replayer {
namespace {

CUresult copy(const driver::Driver& driver, const recording::Copy& work, CUstream stream) {
  if (work.row_bytes() == 0 || work.rows() == 0) return CUDA_SUCCESS;
  if (work.rows() == 1) return driver.cuMemcpyDtoDAsync(work.to(), work.from(), work.row_bytes(), stream);
  CUDA_MEMCPY2D what{};
  what.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  what.srcDevice = work.from();
  what.srcPitch = work.from_pitch();
  what.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  what.dstDevice = work.to();
  what.dstPitch = work.to_pitch();
  what.WidthInBytes = work.row_bytes();
  what.Height = work.rows();
  return driver.cuMemcpy2DAsync(&what, stream);
}

CUresult fill_rows(const driver::Driver& driver, const recording::Fill& work, CUstream stream) {
  auto byte = static_cast<unsigned char>(work.value());
  auto half = static_cast<unsigned short>(work.value());
  if (work.width() == 1)
    return driver.cuMemsetD2D8Async(work.to(), work.pitch(), byte, work.columns(), work.rows(), stream);
  if (work.width() == 2)
    return driver.cuMemsetD2D16Async(work.to(), work.pitch(), half, work.columns(), work.rows(), stream);
  return driver.cuMemsetD2D32Async(work.to(), work.pitch(), work.value(), work.columns(), work.rows(),
                                   stream);
}

CUresult fill(const driver::Driver& driver, const recording::Fill& work, CUstream stream) {
  if (work.columns() == 0 || work.rows() == 0) return CUDA_SUCCESS;
  if (work.rows() > 1) return fill_rows(driver, work, stream);
  auto byte = static_cast<unsigned char>(work.value());
  auto half = static_cast<unsigned short>(work.value());
  if (work.width() == 1) return driver.cuMemsetD8Async(work.to(), byte, work.columns(), stream);
  if (work.width() == 2) return driver.cuMemsetD16Async(work.to(), half, work.columns(), stream);
  return driver.cuMemsetD32Async(work.to(), work.value(), work.columns(), stream);
}

}  // namespace

CUresult Slot::enqueue(std::size_t operation, CUstream stream) const {
  const driver::Driver& driver = device_.driver();
  const auto* recorded = recording().operations()->Get(static_cast<flatbuffers::uoffset_t>(operation));
  switch (recorded->work_type()) {
    case recording::Work::Launch:
      return program_.enqueue(driver, operation, stream);
    case recording::Work::Copy:
      return copy(driver, *recorded->work_as_Copy(), stream);
    case recording::Work::Fill:
      return fill(driver, *recorded->work_as_Fill(), stream);
    case recording::Work::Upload: {
      auto bytes = host_.of(operation);
      if (bytes.empty()) return CUDA_SUCCESS;
      return driver.cuMemcpyHtoDAsync(recorded->work_as_Upload()->to(), bytes.data(), bytes.size(), stream);
    }
    case recording::Work::Download: {
      auto bytes = host_.of(operation);
      if (bytes.empty()) return CUDA_SUCCESS;
      return driver.cuMemcpyDtoHAsync(bytes.data(), recorded->work_as_Download()->from(), bytes.size(),
                                      stream);
    }
    default:
      return CUDA_SUCCESS;
  }
}

}  // namespace kw::replayer
