#include "graphs.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <variant>
#include <vector>

#include "calls.h"
#include "launches.h"
#include "tape.h"

namespace kw::recorder {
namespace {

struct Unknown {
  std::string what;
};
using Node = std::variant<Launch, recording::CopyT, recording::FillT, Unknown>;
using Nodes = std::vector<Node>;

struct Graphs {
  std::mutex mutex;
  std::unordered_map<CUgraphExec, std::shared_ptr<const Nodes>> known;
};

Graphs& graphs() {
  static auto* one = new Graphs;  // never destroyed: PyTorch still calls while the process ends
  return *one;
}

// The nodes in topological order. Empty if the driver does not return them.
std::vector<CUgraphNode> in_order(CUgraph graph) {
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
  return order.size() == nodes.size() ? order : std::vector<CUgraphNode>{};
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

void write(const Nodes& nodes, CUstream stream) {
  for (const Node& node : nodes) {
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
    } else {
      tape().obstacle("graph node", std::get<Unknown>(node).what);
    }
  }
}

std::shared_ptr<const Nodes> find(CUgraphExec executable) {
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
  auto nodes = std::make_shared<Nodes>();
  std::size_t count = 0;
  std::vector<CUgraphNode> order = in_order(graph);
  if (order.empty() && (cuda.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS || count > 0))
    nodes->emplace_back(Unknown{"edges"});
  for (CUgraphNode node : order) {
    CUgraphNodeType type{};
    if (cuda.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
      nodes->emplace_back(Unknown{"of no known type"});
    else if (type == CU_GRAPH_NODE_TYPE_KERNEL)
      nodes->push_back(kernel_node(node));
    else if (type == CU_GRAPH_NODE_TYPE_MEMCPY)
      nodes->push_back(copy_node(node));
    else if (type == CU_GRAPH_NODE_TYPE_MEMSET)
      nodes->push_back(fill_node(node));
    else if (type != CU_GRAPH_NODE_TYPE_EMPTY)
      nodes->emplace_back(Unknown{"type " + std::to_string(static_cast<int>(type))});
  }
  std::lock_guard lock(graphs().mutex);
  graphs().known[executable] = std::move(nodes);
}

void graph_forgotten(CUgraphExec executable) {
  std::lock_guard lock(graphs().mutex);
  graphs().known.erase(executable);
}

void before_graph(const Call& call) {
  if (!is_graph_launch(call)) return;
  auto nodes = find(call.as<cuGraphLaunch_params>().hGraph);
  if (!nodes) return;
  for (const Node& node : *nodes)
    if (const auto* launch = std::get_if<Launch>(&node)) look_at_globals(launch->kernel);
}

bool write_graph(const Call& call) {
  if (!is_graph_launch(call)) return false;
  const auto& p = call.as<cuGraphLaunch_params>();
  if (auto nodes = find(p.hGraph))
    write(*nodes, call.stream(p.hStream));
  else
    tape().obstacle("graph", "changed after it was instantiated, or never seen");
  return true;
}

}  // namespace kw::recorder
