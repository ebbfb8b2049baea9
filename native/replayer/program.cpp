#include "program.h"

#include "program_loader.h"

namespace kw::replayer {

Outcome<Program> Program::load(const driver::Driver& driver, const recording::Recording& recording) {
  return ProgramLoader(driver, recording).load();
}

CUresult Program::enqueue(const driver::Driver& driver, std::size_t operation, CUstream stream) const {
  const ReadyLaunch& launch = at(operation);
  const recording::Launch& recorded = *launch.recorded;
  std::vector<CUlaunchAttribute> attributes = launch.attributes;
  CUlaunchConfig config{};
  config.gridDimX = recorded.grid()->x();
  config.gridDimY = recorded.grid()->y();
  config.gridDimZ = recorded.grid()->z();
  config.blockDimX = recorded.block()->x();
  config.blockDimY = recorded.block()->y();
  config.blockDimZ = recorded.block()->z();
  config.sharedMemBytes = recorded.shared_bytes();
  config.hStream = stream;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  auto** parameters = const_cast<void**>(launch.parameters.data());
  if (!recorded.packed() || recorded.parameters() == nullptr)
    return driver.cuLaunchKernelEx(&config, launch.function->handle, parameters, nullptr);
  std::size_t bytes = recorded.parameters()->size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::uint8_t*>(recorded.parameters()->data()),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  return driver.cuLaunchKernelEx(&config, launch.function->handle, nullptr, extra);
}

Outcome<> Program::restore_variables(const driver::Driver& driver, CUstream stream) const {
  for (const Variable& each : variables_) {
    CUresult result = driver.cuMemcpyHtoDAsync(each.address, each.bytes.data(), each.bytes.size(), stream);
    if (auto done = checked(driver, result, "resetting a variable"); !done) return done;
  }
  return {};
}

}  // namespace kw::replayer
