#include "verify/judge/edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace kw::verify {
namespace {

void add(std::vector<EdgeTensor>& tensors, std::string name, const wire::TensorT& tensor,
         bool is_weight = false) {
  if (tensor.bytes > 0) tensors.push_back({std::move(name), tensor.offset, tensor.bytes, is_weight});
}

void add_all(std::vector<EdgeTensor>& tensors, const std::string& name, const wire::ValueT& value) {
  if (value.kind == wire::ValueKind::tensor && value.tensor) add(tensors, name, *value.tensor);
  for (std::size_t at = 0; at < value.items.size(); ++at)
    if (value.items[at]) add_all(tensors, fmt::format("{}[{}]", name, at), *value.items[at]);
}

bool same_memory(const EdgeTensor& one, const EdgeTensor& other) {
  return one.offset == other.offset && one.bytes == other.bytes;
}

}  // namespace

std::vector<EdgeTensor> edge_tensors(const wire::CallSpecT& spec, std::size_t most) {
  std::vector<EdgeTensor> all;
  for (std::size_t at = 0; spec.inputs && at < spec.inputs->items.size(); ++at) {
    if (!spec.inputs->items[at]) continue;
    const std::string name = at < spec.input_names.size() ? spec.input_names[at] : fmt::format("{}", at);
    add_all(all, "input " + name, *spec.inputs->items[at]);
  }
  for (const auto& weight : spec.weights)
    if (weight && weight->tensor) add(all, "weight " + weight->name, *weight->tensor, true);
  for (std::size_t at = 0; spec.cotangents && at < spec.cotangents->items.size(); ++at)
    if (spec.cotangents->items[at])
      add_all(all, fmt::format("cotangent {}", at), *spec.cotangents->items[at]);

  std::ranges::sort(all, {},
                    [](const EdgeTensor& each) { return std::tie(each.offset, each.bytes, each.name); });
  const auto repeated = std::ranges::unique(all, same_memory);
  all.erase(repeated.begin(), repeated.end());
  auto shares = [&](const EdgeTensor& each) {
    return std::ranges::count_if(all, [&](const EdgeTensor& other) {
             return other.offset < each.offset + each.bytes && each.offset < other.offset + other.bytes;
           }) > 1;
  };
  std::vector<EdgeTensor> found;
  std::ranges::remove_copy_if(all, std::back_inserter(found), shares);
  std::ranges::sort(found, [](const EdgeTensor& one, const EdgeTensor& other) {
    if (one.is_weight != other.is_weight) return other.is_weight;
    return one.bytes != other.bytes ? one.bytes > other.bytes : one.offset < other.offset;
  });
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace kw::verify
