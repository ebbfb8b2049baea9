#include "syntax/torch_names.h"

#include <algorithm>
#include <array>

namespace kw::syntax {
namespace {

using namespace std::string_view_literals;

constexpr std::array prefixes{"torch.Generator"sv,
                              "torch.Size"sv,
                              "torch.Stream"sv,
                              "torch.Tensor"sv,
                              "torch._"sv,
                              "torch.accelerator"sv,
                              "torch.amp"sv,
                              "torch.arange"sv,
                              "torch.as_tensor"sv,
                              "torch.autocast"sv,
                              "torch.autograd"sv,
                              "torch.backends"sv,
                              "torch.broadcast_shapes"sv,
                              "torch.compile"sv,
                              "torch.cuda"sv,
                              "torch.device"sv,
                              "torch.distributed"sv,
                              "torch.empty"sv,
                              "torch.enable_grad"sv,
                              "torch.export."sv,
                              "torch.finfo"sv,
                              "torch.from_"sv,
                              "torch.full"sv,
                              "torch.fx."sv,
                              "torch.get_"sv,
                              "torch.iinfo"sv,
                              "torch.inference_"sv,
                              "torch.is_"sv,
                              "torch.jit"sv,
                              "torch.library"sv,
                              "torch.load"sv,
                              "torch.manual_seed"sv,
                              "torch.mps."sv,
                              "torch.multiprocessing."sv,
                              "torch.nn.Buffer"sv,
                              "torch.nn.Module"sv,
                              "torch.nn.Parameter"sv,
                              "torch.nn.init"sv,
                              "torch.no_grad"sv,
                              "torch.numel"sv,
                              "torch.ones"sv,
                              "torch.ops"sv,
                              "torch.profiler"sv,
                              "torch.promote_types"sv,
                              "torch.random"sv,
                              "torch.result_type"sv,
                              "torch.save"sv,
                              "torch.set_"sv,
                              "torch.tensor"sv,
                              "torch.testing."sv,
                              "torch.typename"sv,
                              "torch.utils"sv,
                              "torch.version"sv,
                              "torch.xpu."sv,
                              "torch.zeros"sv};

}  // namespace

bool computes_nothing(std::string_view path) {
  return std::ranges::any_of(prefixes, [path](std::string_view prefix) { return path.starts_with(prefix); });
}

}  // namespace kw::syntax
