#include "fault.h"

#include <fmt/format.h>

#include <utility>

#include "base/core/text.h"

namespace kw::replayer {
namespace {

const char* class_of(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
      return "illegal_memory_access";
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return "out_of_resources";
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "out_of_memory";
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_NO_DEVICE:
      return "infrastructure";
    default:
      return "runtime_error";
  }
}

}  // namespace

std::unexpected<Fault> unsupported(std::string why) {
  return std::unexpected(Fault{"unsupported_candidate", std::move(why)});
}

std::unexpected<Fault> infrastructure(std::string why) {
  return std::unexpected(Fault{"infrastructure", std::move(why)});
}

Outcome<> checked(const driver::Driver& driver, CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS) return {};
  return std::unexpected(Fault{class_of(result), fmt::format("{}: {}", what, name_of(driver, result))});
}

wire::FailedT failed(const Fault& fault) {
  wire::FailedT reply;
  reply.stage = "replay";
  reply.error_class = fault.error_class;
  reply.error = fault.error;
  return reply;
}

std::string plain_name(std::string_view name) {
  return shorten(to_plain_text(name), 200);
}

}  // namespace kw::replayer
