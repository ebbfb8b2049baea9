#include "world.h"

#include "base/core/crypto.h"

namespace kw::recording {
namespace {

std::string_view text(const Image& image) {
  return {reinterpret_cast<const char*>(image.data()), image.size()};
}

// Reads the world's file as a caller does.
template <typename Use>
auto with_view(const World& world, Use use) {
  std::string bytes = world.bytes();
  auto view = View::of(bytes);
  if (!view) throw std::runtime_error(view.error().what);
  return use(**view);
}

void add_transfers(World& world) {
  UploadT upload;
  upload.to = heap + 4096;
  upload.bytes = {1, 2, 3, 4};
  world.add(0, upload);
  DownloadT download;
  download.from = arena;
  download.bytes = {0, 0};
  world.add(0, download);
}

void add_fork(World& world) {
  world.record(0, 7);
  world.wait(1, 7);
  world.launch(1).from_graph = true;
  world.record(1, 8);
  world.wait(0, 8);
  world.launch(3);
  world.host_waits(HostWaits::device);
}

}  // namespace

World::World() {
  recording.version = version;
  recording.gpu = "NVIDIA H200";
  recording.compute_capability = 90;
  recording.driver_version = 13000;
  recording.torch = "2.11.0";
  recording.triton = "3.6.0";
  recording.heap = std::make_unique<Span>(heap, 64 * mib);
  recording.committed = {Span(heap, mib)};
  recording.arena = std::make_unique<Span>(arena, 65536);
  for (auto [blocking, legacy] : {std::pair{true, true}, {false, false}, {false, false}, {true, false}}) {
    auto stream = std::make_unique<StreamT>();
    stream->blocking = blocking;
    stream->legacy_default = legacy;
    recording.streams.push_back(std::move(stream));
  }
  recording.cubins.push_back(std::make_unique<CubinT>());
  set_image(image_of({.kernels = {"add"}, .globals = {{"counter", 4}}}));
}

LaunchT& World::launch(std::uint32_t stream) {
  LaunchT launch;
  launch.name = "add";
  launch.grid = std::make_unique<Dim>(4, 1, 1);
  launch.block = std::make_unique<Dim>(128, 1, 1);
  launch.parameters.resize(12);
  launch.layout = {Parameter(0, 8), Parameter(8, 4)};
  return add(stream, std::move(launch));
}

CopyT& World::copy() {
  CopyT copy;
  copy.from = arena;
  copy.to = heap;
  copy.row_bytes = 256;
  return add(0, copy);
}

FillT& World::fill() {
  FillT fill;
  fill.to = heap;
  fill.width = 4;
  fill.columns = 64;
  return add(0, fill);
}

void World::host_waits(HostWaits scope, std::uint32_t stream, std::uint64_t event) {
  HostWaitT& wait = add(stream, HostWaitT());
  wait.scope = scope;
  wait.event = event;
}

void World::set_image(const Image& image) {
  recording.cubins[0]->image = image;
  recording.cubins[0]->sha256 = sha256_hex(text(image));
}

void World::add_state(std::uint64_t address, std::uint64_t bytes, std::uint64_t at) {
  auto block = std::make_unique<BlockT>();
  block->address = address;
  block->bytes = bytes;
  block->at = at;
  recording.state.push_back(std::move(block));
}

void World::add_obstacle(const std::string& what, const std::string& detail) {
  auto obstacle = std::make_unique<ObstacleT>();
  obstacle->what = what;
  obstacle->detail = detail;
  recording.obstacles.push_back(std::move(obstacle));
}

std::string World::bytes() const {
  flatbuffers::FlatBufferBuilder builder;
  FinishRecordingBuffer(builder, Recording::Pack(builder, &recording));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

std::string World::refusal() const {
  std::string file = bytes();
  auto view = View::of(file);
  return view ? "" : view.error().what;
}

Plan World::planned() const {
  return with_view(*this, [](const Recording& each) { return plan(each); });
}

std::string World::shown() const {
  return with_view(*this, [](const Recording& each) { return recording::shown(each); });
}

std::string World::why_not_replayable() const {
  return with_view(*this, [](const Recording& each) { return recording::why_not_replayable(each); });
}

World full_world() {
  World world;
  world.recording.state_bytes = 1024;
  world.add_state(heap + 8192, 512, 0);
  world.add_state(heap + 8704, 512, 512);
  world.recording.scratch = {Span(heap, 4096)};
  auto counter = std::make_unique<GlobalT>();
  counter->name = "counter";
  counter->bytes = {0, 0, 0, 1};
  world.recording.cubins[0]->globals.push_back(std::move(counter));
  auto cluster = std::make_unique<AttributeT>();
  cluster->id = 4;
  cluster->value = {2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
  world.launch().attributes.push_back(std::move(cluster));
  world.copy().rows = 1;
  world.fill().rows = 1;
  add_transfers(world);
  add_fork(world);
  world.launch(2);
  world.launch();
  return world;
}

}  // namespace kw::recording
