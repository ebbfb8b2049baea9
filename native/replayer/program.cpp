#include "program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

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

namespace {

constexpr std::size_t max_variable_bytes = std::size_t{1} << 30;

std::string text_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string() : text->str();
}

std::string launch_name(const recording::Launch& launch) {
  return plain_name(text_of(launch.name()));
}

// The recording was checked: all attributes are plain values.
std::vector<CUlaunchAttribute> attributes_of(const recording::Launch& launch) {
  std::vector<CUlaunchAttribute> result;
  if (launch.attributes() == nullptr) return result;
  for (const recording::Attribute* each : *launch.attributes()) {
    CUlaunchAttribute attribute{};
    attribute.id = static_cast<CUlaunchAttributeID>(each->id());
    std::size_t bytes = each->value() == nullptr ? 0 : each->value()->size();
    if (bytes > 0)
      std::memcpy(&attribute.value, each->value()->data(), std::min(bytes, sizeof attribute.value));
    result.push_back(attribute);
  }
  return result;
}

// The bytes that a variable had when the call began; null if they were not recorded.
const flatbuffers::Vector<std::uint8_t>* recorded_bytes(const recording::Cubin& cubin,
                                                        const std::string& name) {
  if (cubin.globals() == nullptr) return nullptr;
  for (const recording::Global* each : *cubin.globals())
    if (each->name() != nullptr && each->name()->string_view() == name) return each->bytes();
  return nullptr;
}

}  // namespace

Outcome<Program> ProgramLoader::load() {
  if (recording_.cubins() != nullptr)
    for (const recording::Cubin* each : *recording_.cubins())
      if (auto loaded = load_module(*each); !loaded) return std::unexpected(loaded.error());
  if (recording_.operations() == nullptr) return std::move(program_);
  for (std::size_t i = 0; i < recording_.operations()->size(); ++i) {
    const auto* launch =
        recording_.operations()->Get(static_cast<flatbuffers::uoffset_t>(i))->work_as_Launch();
    if (launch == nullptr) continue;
    if (auto added = add_launch(i, *launch); !added) return std::unexpected(added.error());
  }
  return std::move(program_);
}

Outcome<> ProgramLoader::load_module(const recording::Cubin& cubin) {
  Program::Module module;
  // The driver needs an aligned ELF image; the recording's bytes are unaligned.
  std::vector<std::uint64_t> image(cubin.image()->size() / sizeof(std::uint64_t) + 1);
  std::memcpy(image.data(), cubin.image()->data(), cubin.image()->size());
  auto loaded = checked(driver_, driver_.cuModuleLoadData(&module.handle, image.data()), "loading a module");
  if (!loaded) return unsupported(loaded.error().error);
  module.unload =
      Release([this_driver = &driver_, handle = module.handle] { this_driver->cuModuleUnload(handle); });
  auto found = find_variables(cubin, module.handle);
  auto elf = recording::Elf::of({cubin.image()->data(), cubin.image()->size()});
  if (!elf) return unsupported(elf.error().what);
  images_.push_back(std::move(*elf));
  program_.modules_.push_back(std::move(module));
  return found;
}

Outcome<> ProgramLoader::find_variables(const recording::Cubin& cubin, CUmodule module) {
  for (const auto& each : recording::variables({cubin.image()->data(), cubin.image()->size()})) {
    Program::Variable variable;
    std::size_t bytes = 0;
    // The driver does not find the compiler's own local symbols; no source can write to them.
    if (driver_.cuModuleGetGlobal(&variable.address, &bytes, module, each.name.c_str()) != CUDA_SUCCESS)
      continue;
    if (bytes == 0) continue;
    variable_bytes_ += bytes;
    if (variable_bytes_ > max_variable_bytes)
      return unsupported(fmt::format("its modules have more than {} bytes of variables", max_variable_bytes));
    const auto* recorded = recorded_bytes(cubin, each.name);
    if (recorded != nullptr && recorded->size() == bytes) {
      variable.bytes.assign(reinterpret_cast<const char*>(recorded->data()), bytes);
    } else {
      variable.bytes.resize(bytes);
      auto read = checked(driver_, driver_.cuMemcpyDtoH(variable.bytes.data(), variable.address, bytes),
                          "reading a variable");
      if (!read) return read;
    }
    program_.variables_.push_back(std::move(variable));
  }
  return {};
}

Outcome<Function*> ProgramLoader::function(std::size_t cubin, const std::string& name) {
  Program::Module& module = program_.modules_[cubin];
  auto known = module.functions.find(name);
  if (known != module.functions.end()) return &known->second;
  Function made;
  auto found =
      checked(driver_, driver_.cuModuleGetFunction(&made.handle, module.handle, name.c_str()), "finding it");
  // A lazy load at the first launch, behind a closed gate, would wait for ever.
  if (found) found = checked(driver_, driver_.cuFuncLoad(made.handle), "loading it");
  if (!found) return unsupported(fmt::format("function {}: {}", plain_name(name), found.error().error));
  driver_.cuFuncGetAttribute(&made.registers, CU_FUNC_ATTRIBUTE_NUM_REGS, made.handle);
  driver_.cuFuncGetAttribute(&made.local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, made.handle);
  driver_.cuFuncGetAttribute(&made.shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, made.handle);
  made.code = recording::code_key(images_[cubin].code_of(name));
  return &module.functions.emplace(name, made).first->second;
}

Outcome<> ProgramLoader::set_attributes(const recording::Launch& launch, Function& function) {
  auto set = [&](CUfunction_attribute which, int value) {
    return checked(driver_, driver_.cuFuncSetAttribute(function.handle, which, value),
                   "setting an attribute of " + launch_name(launch));
  };
  constexpr unsigned most = 1U << 30;
  int wanted =
      std::max(launch.max_dynamic_shared_bytes(), static_cast<int>(std::min(launch.shared_bytes(), most)));
  int now = 0;
  driver_.cuFuncGetAttribute(&now, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function.handle);
  Outcome<> done;
  if (wanted > now) done = set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, wanted);
  if (done && launch.carveout() >= -1)
    done = set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, launch.carveout());
  if (done && launch.non_portable_cluster())
    done = set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  return done ? done : unsupported(done.error().error);
}

// The driver copies as many bytes as the function states from these pointers, so offsets and sizes must
// match.
Outcome<> ProgramLoader::take_parameters(ReadyLaunch& launch) {
  const auto* bytes = launch.recorded->parameters();
  const auto* layout = launch.recorded->layout();
  std::size_t length = bytes == nullptr ? 0 : bytes->size();
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0;
    std::size_t size = 0;
    if (driver_.cuFuncGetParamInfo(launch.function->handle, i, &offset, &size) != CUDA_SUCCESS) {
      bool all = launch.recorded->packed() || i == (layout == nullptr ? 0 : layout->size());
      return all ? Outcome<>{}
                 : unsupported(launch_name(*launch.recorded) + " was given too many parameters");
    }
    bool same = launch.recorded->packed();
    if (!same && layout != nullptr && i < layout->size()) {
      const recording::Parameter* recorded = layout->Get(static_cast<flatbuffers::uoffset_t>(i));
      same = recorded->offset() == offset && recorded->bytes() == size;
    }
    if (!same || size > length || offset > length - size)
      return unsupported(launch_name(*launch.recorded) + " was given other parameters than it takes");
    if (launch.recorded->packed()) continue;
    launch.parameters.push_back(const_cast<std::uint8_t*>(bytes->data() + offset));
  }
}

Outcome<> ProgramLoader::add_launch(std::size_t operation, const recording::Launch& launch) {
  if (launch.cubin() >= program_.modules_.size() || launch.name() == nullptr || launch.grid() == nullptr ||
      launch.block() == nullptr)
    return unsupported("a launch of the recording is incomplete");
  auto found = function(launch.cubin(), launch.name()->str());
  if (!found) return std::unexpected(found.error());
  if (auto set = set_attributes(launch, **found); !set) return set;
  ReadyLaunch ready;
  ready.operation = operation;
  ready.recorded = &launch;
  ready.function = *found;
  ready.cubin_sha256 = text_of(recording_.cubins()->Get(launch.cubin())->sha256());
  ready.attributes = attributes_of(launch);
  if (auto taken = take_parameters(ready); !taken) return taken;
  program_.numbers_.emplace(operation, program_.launches_.size());
  program_.launches_.push_back(std::move(ready));
  return {};
}

}  // namespace kw::replayer
