#include "written.h"

#include "base/hash.h"
#include "recording/recording.h"

namespace kw::recorder {
namespace {

void describe_machine(recording::RecordingT& recording) {
  const driver::Driver& cuda = machine().driver;
  CUdevice device = 0;
  char name[256] = "";
  int major = 0;
  int minor = 0;
  cuda.cuDriverGetVersion(&recording.driver_version);
  if (cuda.cuCtxGetDevice(&device) != CUDA_SUCCESS) return;
  if (cuda.cuDeviceGetName(name, sizeof name, device) == CUDA_SUCCESS) recording.gpu = name;
  cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  recording.compute_capability = static_cast<std::uint32_t>(10 * major + minor);
}

void describe_memory(recording::RecordingT& recording, const SavedState& state) {
  recording.heap = std::make_unique<recording::Span>(driver::heap_address, driver::heap_bytes);
  if (std::uint64_t committed = heap().committed_bytes(); committed > 0)
    recording.committed.emplace_back(driver::heap_address, committed);
  recording.state_bytes = state.bytes();
  for (const SavedState::Saved& saved : state.blocks()) {
    auto block = std::make_unique<recording::BlockT>();
    block->address = saved.block.address;
    block->bytes = saved.block.bytes;
    block->at = saved.at;
    recording.state.push_back(std::move(block));
  }
}

void describe_cubins(recording::RecordingT& recording, const std::vector<const Image*>& images) {
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::vector<std::uint8_t>& bytes = images[i]->bytes;
    recording.cubins[i]->image = bytes;
    recording.cubins[i]->sha256 = sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

// Images of a call are some megabytes, but what it uploads counts too: beyond this the reader would refuse
// the file.
std::uint64_t estimated_bytes(const Tape::Taken& taken) {
  std::uint64_t total = std::uint64_t{1} << 20;
  for (const Image* image : taken.images) total += image->bytes.size();
  for (const auto& operation : taken.recording.operations) {
    total += 256;
    if (const auto* upload = operation->work.AsUpload()) total += upload->bytes.size();
    if (const auto* download = operation->work.AsDownload()) total += download->bytes.size();
    if (const auto* launch = operation->work.AsLaunch()) total += launch->parameters.size() + 512;
  }
  return total;
}

}  // namespace

Result<Fd> written(Tape::Taken taken, const SavedState& state, const std::string& torch,
                   const std::string& triton) {
  if (estimated_bytes(taken) > recording::max_file_bytes)
    return fail("the recording is larger than a recording may be");
  recording::RecordingT& recording = taken.recording;
  recording.version = recording::version;
  recording.torch = torch;
  recording.triton = triton;
  describe_machine(recording);
  describe_memory(recording, state);
  describe_cubins(recording, taken.images);
  flatbuffers::FlatBufferBuilder builder(1U << 20U);
  builder.Finish(recording::Recording::Pack(builder, &recording), recording::RecordingIdentifier());
  return memory_file("recording",
                     {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()});
}

}  // namespace kw::recorder
