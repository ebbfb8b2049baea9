#include "dataset/labels/target.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/core/text.h"
#include "dataset/labels/labels.h"

namespace kw::labels {
namespace {

using corpus::Target;
using Named = std::pair<std::string_view, Target>;

// Words of folder and file names, which end at underscores and dashes.
constexpr std::array path_words = std::to_array<Named>({{"nvidia", Target::nvidia},
                                                        {"cuda", Target::nvidia},
                                                        {"hopper", Target::nvidia},
                                                        {"blackwell", Target::nvidia},
                                                        {"amd", Target::amd},
                                                        {"rocm", Target::amd},
                                                        {"hip", Target::amd},
                                                        {"intel", Target::intel},
                                                        {"xpu", Target::intel},
                                                        {"ascend", Target::ascend},
                                                        {"npu", Target::ascend},
                                                        {"cann", Target::ascend},
                                                        {"kunlunxin", Target::kunlunxin},
                                                        {"cambricon", Target::cambricon},
                                                        {"mlu", Target::cambricon},
                                                        {"mthreads", Target::mthreads},
                                                        {"musa", Target::mthreads},
                                                        {"iluvatar", Target::iluvatar},
                                                        {"corex", Target::iluvatar},
                                                        {"metax", Target::metax},
                                                        {"maca", Target::metax},
                                                        {"hygon", Target::hygon},
                                                        {"enflame", Target::enflame},
                                                        {"gcu", Target::enflame},
                                                        {"tsingmicro", Target::tsingmicro},
                                                        {"txda", Target::tsingmicro},
                                                        {"sunrise", Target::sunrise},
                                                        {"ptpu", Target::sunrise},
                                                        {"aipu", Target::aipu},
                                                        {"arm", Target::arm}});

// Dotted names in code; each covers the names below it.
constexpr std::array code_names = std::to_array<Named>({{"triton.language.extra.cuda", Target::nvidia},
                                                        {"tl.extra.cuda", Target::nvidia},
                                                        {"gluon.language.nvidia", Target::nvidia},
                                                        {"triton.language.extra.hip", Target::amd},
                                                        {"tl.extra.hip", Target::amd},
                                                        {"gluon.language.amd", Target::amd},
                                                        {"intel_extension_for_pytorch", Target::intel},
                                                        {"triton.language.extra.intel", Target::intel},
                                                        {"torch_npu", Target::ascend},
                                                        {"torch.npu", Target::ascend},
                                                        {"triton.language.extra.cann", Target::ascend},
                                                        {"tl.extra.cann", Target::ascend},
                                                        {"tl.extra.ascend", Target::ascend},
                                                        {"triton.language.extra.ascend", Target::ascend},
                                                        {"torch_xmlir", Target::kunlunxin},
                                                        {"triton.language.extra.xpu", Target::kunlunxin},
                                                        {"tl.extra.xpu", Target::kunlunxin},
                                                        {"torch_mlu", Target::cambricon},
                                                        {"torch.mlu", Target::cambricon},
                                                        {"triton.language.extra.mlu", Target::cambricon},
                                                        {"tl.extra.mlu", Target::cambricon},
                                                        {"torch_musa", Target::mthreads},
                                                        {"torch.musa", Target::mthreads},
                                                        {"triton.language.extra.musa", Target::mthreads},
                                                        {"torch_gcu", Target::enflame},
                                                        {"triton_gcu", Target::enflame},
                                                        {"torch.gcu", Target::enflame},
                                                        {"torch_txda", Target::tsingmicro},
                                                        {"torch_ptpu", Target::sunrise},
                                                        {"__builtin_amdgcn_mfma", Target::amd},
                                                        {"hip_runtime.h", Target::amd},
                                                        {"hipLaunchKernelGGL", Target::amd}});

std::optional<Target> of_word(std::string_view word) {
  auto found = std::ranges::find(path_words, word, &Named::first);
  return found == path_words.end() ? std::nullopt : std::optional(found->second);
}

// The first word of the name that is a vendor's.
std::optional<Target> of_name(std::string_view name) {
  const std::string all = lower(name.substr(0, name.find('.')));
  std::string_view rest = all;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of("_-"), rest.size());
    if (auto target = of_word(rest.substr(0, end))) return target;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

// The vendor of the innermost folder that names one, else that of the file's name.
std::optional<Target> of_path(std::string_view path) {
  const std::size_t file = path.rfind('/');
  for (std::size_t slash = file; slash != path.npos;) {
    const std::string_view folders = path.substr(0, slash);
    slash = folders.rfind('/');
    if (auto target = of_name(folders.substr(slash == path.npos ? 0 : slash + 1))) return target;
  }
  return of_name(path.substr(file == path.npos ? 0 : file + 1));
}

bool goes_on(std::string_view code, std::size_t at) {
  return at < code.size() && is_word(code[at]);
}

// The vendor that the code names; none where it names several, because such code chooses among them.
std::optional<Target> of_code(std::string_view code) {
  std::optional<Target> target;
  for (const auto& [name, of] : code_names)
    for (std::size_t at = code.find(name); at != code.npos; at = code.find(name, at + 1)) {
      if (goes_on(code, at + name.size()) || (at > 0 && (is_word(code[at - 1]) || code[at - 1] == '.')))
        continue;
      if (target && *target != of) return {};
      target = of;
    }
  return target;
}

// The lines of a context that import something at module level: helpers may name what they only ask for.
std::string imports_in(std::string_view context) {
  std::string lines;
  while (!context.empty()) {
    const std::size_t end = std::min(context.find('\n'), context.size());
    const std::string_view line = context.substr(0, end);
    if (line.starts_with("import ") || line.starts_with("from ") || line.starts_with("#include"))
      lines += std::string(line) + "\n";
    context.remove_prefix(std::min(end + 1, context.size()));
  }
  return lines;
}

// Assembly for NVIDIA: a kernel's strings with PTX instructions.
bool holds_ptx(std::string_view text) {
  if (text.find("inline_asm_elementwise") == text.npos) return false;
  return std::ranges::any_of(
      std::to_array<std::string_view>({"cvt.r", "mov.b", ".f32", ".b32", ".bf16", ".f16x2", "ex2.approx"}),
      [&](std::string_view word) { return text.find(word) != text.npos; });
}

}  // namespace

corpus::Target target_of(const corpus::Unit& unit) {
  const bool cuda = unit.kind == corpus::UnitKind::cuda_kernel || unit.kind == corpus::UnitKind::cuda_device;
  const Syntax syntax = cuda ? Syntax::cuda : Syntax::python;
  if (auto target = of_path(unit.source.path)) return *target;
  if (auto target = of_code(without_words(unit.text, syntax))) return *target;
  if (holds_ptx(unit.text)) return Target::nvidia;
  if (auto target = of_code(imports_in(unit.context))) return *target;
  return cuda ? Target::nvidia : Target::neutral;
}

}  // namespace kw::labels
