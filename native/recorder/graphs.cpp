#include "graphs.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <variant>
#include <vector>

#include "branches.h"
#include "calls.h"
#include "launches.h"
#include "tape.h"

namespace kw::recorder {
namespace {

struct Unknown {
  std::string what;
};
struct Nothing {};  // orders other nodes
using Node = std::variant<Nothing, Launch, recording::CopyT, recording::FillT, Unknown>;

struct Work {
  std::vector<Node> nodes;
  std::vector<BranchStep> steps;  // of each node
};

struct Graphs {
  std::mutex mutex;
  std::unordered_map<CUgraphExec, std::shared_ptr<const Work>> known;
};

Graphs& graphs() {
  static auto* one = new Graphs;  // never destroyed: PyTorch still calls while the process ends
  return *one;
}

// The nodes in topological order, and the numbers of those on which each depends. Empty if the driver does
// not return them.
struct Ordered {
  std::vector<CUgraphNode> nodes;
  std::vector<std::vector<std::size_t>> after;
};

Ordered in_order(CUgraph graph) {
  const driver::Driver& cuda = machine().driver;
  std::size_t count = 0;
  if (cuda.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS) return {};
  std::vector<CUgraphNode> nodes(count);
  if (cuda.cuGraphGetNodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return {};
  std::size_t edges = 0;
  if (cuda.cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges) != CUDA_SUCCESS) return {};
  std::vector<CUgraphNode> from(edges);
  std::vector<CUgraphNode> to(edges);
  std::vector<CUgraphEdgeData> data(edges);
  if (edges > 0 && cuda.cuGraphGetEdges(graph, from.data(), to.data(), data.data(), &edges) != CUDA_SUCCESS)
    return {};

  std::unordered_map<CUgraphNode, int> missing;
  std::unordered_multimap<CUgraphNode, CUgraphNode> next;
  for (std::size_t i = 0; i < edges; ++i) {
    ++missing[to[i]];
    next.emplace(from[i], to[i]);
  }
  std::vector<CUgraphNode> order;
  for (CUgraphNode node : nodes)
    if (!missing.contains(node)) order.push_back(node);
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto [first, last] = next.equal_range(order[i]);
    for (; first != last; ++first)
      if (--missing[first->second] == 0) order.push_back(first->second);
  }
  if (order.size() != nodes.size()) return {};
  Ordered result{std::move(order), std::vector<std::vector<std::size_t>>(nodes.size())};
  std::unordered_map<CUgraphNode, std::size_t> number;
  for (std::size_t i = 0; i < result.nodes.size(); ++i) number[result.nodes[i]] = i;
  for (std::size_t i = 0; i < edges; ++i) result.after[number[to[i]]].push_back(number[from[i]]);
  return result;
}

// Attributes of a kernel node that change its result.
std::vector<CUlaunchAttribute> attributes_of(CUgraphNode node) {
  std::vector<CUlaunchAttribute> found;
  auto ask = [&](CUlaunchAttributeID id, auto is_set) {
    CUlaunchAttribute attribute{};
    attribute.id = id;
    if (machine().driver.cuGraphKernelNodeGetAttribute(node, id, &attribute.value) == CUDA_SUCCESS &&
        is_set(attribute.value))
      found.push_back(attribute);
  };
  ask(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
      [](const CUlaunchAttributeValue& value) { return value.clusterDim.x != 0; });
  ask(CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
      [](const CUlaunchAttributeValue& value) { return value.cooperative != 0; });
  return found;
}

Node kernel_node(CUgraphNode node) {
  CUDA_KERNEL_NODE_PARAMS p{};
  if (machine().driver.cuGraphKernelNodeGetParams(node, &p) != CUDA_SUCCESS) return Unknown{"kernel"};
  Launch launch = described({.function = p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern),
                             .grid = {p.gridDimX, p.gridDimY, p.gridDimZ},
                             .block = {p.blockDimX, p.blockDimY, p.blockDimZ},
                             .shared_bytes = p.sharedMemBytes,
                             .stream = nullptr,
                             .parameters = p.kernelParams,
                             .extra = p.extra,
                             .attributes = attributes_of(node),
                             .symbol = nullptr});
  launch.launch.from_graph = true;
  return launch;
}

bool on_device(CUmemorytype kind) {
  return kind == CU_MEMORYTYPE_DEVICE || kind == CU_MEMORYTYPE_UNIFIED;
}

Node copy_node(CUgraphNode node) {
  CUDA_MEMCPY3D p{};
  if (machine().driver.cuGraphMemcpyNodeGetParams(node, &p) != CUDA_SUCCESS || p.Depth > 1 ||
      !on_device(p.srcMemoryType) || !on_device(p.dstMemoryType))
    return Unknown{"copy"};
  recording::CopyT copy;
  copy.to = p.dstDevice + p.dstY * p.dstPitch + p.dstXInBytes;
  copy.from = p.srcDevice + p.srcY * p.srcPitch + p.srcXInBytes;
  copy.row_bytes = p.WidthInBytes;
  copy.rows = std::max<std::size_t>(p.Height, 1);
  copy.to_pitch = copy.rows > 1 ? p.dstPitch : 0;
  copy.from_pitch = copy.rows > 1 ? p.srcPitch : 0;
  return copy;
}

Node fill_node(CUgraphNode node) {
  CUDA_MEMSET_NODE_PARAMS p{};
  if (machine().driver.cuGraphMemsetNodeGetParams(node, &p) != CUDA_SUCCESS) return Unknown{"fill"};
  recording::FillT fill;
  fill.to = p.dst;
  fill.value = p.value;
  fill.width = static_cast<std::uint8_t>(p.elementSize);
  fill.columns = p.width;
  fill.rows = std::max<std::size_t>(p.height, 1);
  fill.pitch = fill.rows > 1 ? p.pitch : 0;
  return fill;
}

void write(const Node& node, CUstream stream) {
  if (const auto* launch = std::get_if<Launch>(&node)) {
    write(stream, *launch);
  } else if (const auto* copy = std::get_if<recording::CopyT>(&node)) {
    std::uint64_t last = copy->rows - 1;
    if (tape().ours(copy->to, last * copy->to_pitch + copy->row_bytes) &&
        tape().ours(copy->from, last * copy->from_pitch + copy->row_bytes))
      tape().add(stream, *copy);
    else
      tape().obstacle("foreign pointer", "a graph's copy");
  } else if (const auto* fill = std::get_if<recording::FillT>(&node)) {
    if (tape().ours(fill->to, (fill->rows - 1) * fill->pitch + fill->columns * fill->width))
      tape().add(stream, *fill);
    else
      tape().obstacle("foreign pointer", "a graph's fill");
  } else if (const auto* unknown = std::get_if<Unknown>(&node)) {
    tape().obstacle("graph node", unknown->what);
  }
}

// Numbers for events that the driver does not have.
std::uint64_t new_events(std::size_t count) {
  static std::atomic<std::uint64_t> next{std::uint64_t{1} << 63};
  return next.fetch_add(count);
}

void record(std::uint64_t event, CUstream stream) {
  recording::EventRecordT record;
  record.event = event;
  tape().add(stream, record);
}

void wait_for(std::uint64_t event, CUstream stream) {
  recording::EventWaitT wait;
  wait.event = event;
  tape().add(stream, wait);
}

// Branches fork from the stream and join it again.
void write(const Work& work, CUstream stream) {
  const std::size_t count = work.nodes.size();
  const std::uint64_t events = new_events(count + 1);
  const std::uint64_t begun = events + count;
  auto stream_of = [&](std::size_t branch) { return branch == 0 ? stream : branch_handle(branch); };
  if (std::ranges::any_of(work.steps, &BranchStep::begins)) record(begun, stream);
  std::map<std::size_t, std::size_t> last;  // by branch other than 0: its last node
  for (std::size_t i = 0; i < count; ++i) {
    const BranchStep& step = work.steps[i];
    if (step.begins) wait_for(begun, stream_of(step.branch));
    for (std::size_t before : step.after) wait_for(events + before, stream_of(step.branch));
    write(work.nodes[i], stream_of(step.branch));
    if (step.awaited) record(events + i, stream_of(step.branch));
    if (step.branch > 0) last[step.branch] = i;
  }
  for (auto [branch, node] : last) {
    record(events + node, stream_of(branch));
    wait_for(events + node, stream);
  }
}

std::shared_ptr<const Work> find(CUgraphExec executable) {
  std::lock_guard lock(graphs().mutex);
  auto found = graphs().known.find(executable);
  return found == graphs().known.end() ? nullptr : found->second;
}

bool is_graph_launch(const Call& call) {
  return call.id == KW_ID(cuGraphLaunch);
}

}  // namespace

void graph_instantiated(CUgraph graph, CUgraphExec executable) {
  const driver::Driver& cuda = machine().driver;
  auto work = std::make_shared<Work>();
  std::vector<Node>& nodes = work->nodes;
  std::size_t count = 0;
  const Ordered order = in_order(graph);
  if (order.nodes.empty() && (cuda.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS || count > 0))
    nodes.emplace_back(Unknown{"edges"});
  for (CUgraphNode node : order.nodes) {
    CUgraphNodeType type{};
    if (cuda.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
      nodes.emplace_back(Unknown{"of no known type"});
    else if (type == CU_GRAPH_NODE_TYPE_KERNEL)
      nodes.push_back(kernel_node(node));
    else if (type == CU_GRAPH_NODE_TYPE_MEMCPY)
      nodes.push_back(copy_node(node));
    else if (type == CU_GRAPH_NODE_TYPE_MEMSET)
      nodes.push_back(fill_node(node));
    else if (type == CU_GRAPH_NODE_TYPE_EMPTY)
      nodes.emplace_back(Nothing{});
    else
      nodes.emplace_back(Unknown{"type " + std::to_string(static_cast<int>(type))});
  }
  work->steps = order.nodes.empty() ? std::vector<BranchStep>(nodes.size()) : branches(order.after);
  std::lock_guard lock(graphs().mutex);
  graphs().known[executable] = std::move(work);
}

void graph_forgotten(CUgraphExec executable) {
  std::lock_guard lock(graphs().mutex);
  graphs().known.erase(executable);
}

void before_graph(const Call& call) {
  if (!is_graph_launch(call)) return;
  auto work = find(call.as<cuGraphLaunch_params>().hGraph);
  if (!work) return;
  for (const Node& node : work->nodes)
    if (const auto* launch = std::get_if<Launch>(&node)) look_at_globals(launch->kernel);
}

bool write_graph(const Call& call) {
  if (!is_graph_launch(call)) return false;
  const auto& p = call.as<cuGraphLaunch_params>();
  if (auto work = find(p.hGraph))
    write(*work, call.stream(p.hStream));
  else
    tape().obstacle("graph", "changed after it was instantiated, or never seen");
  return true;
}

}  // namespace kw::recorder
