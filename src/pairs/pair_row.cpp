#include "pairs/pair_row.h"

#include <fmt/core.h>

#include <utility>

#include "corpus/normalise.h"
#include "near/renamed.h"
#include "pairs/code_text.h"
#include "pairs/pairs.h"

namespace kw::pairs {
namespace {

// Whether the text is a function as it stands at a file's top level: its body is indented by one step only.
bool stands_alone(std::string_view text) {
  if (!text.starts_with("def ") && !text.starts_with("@") && !text.starts_with("async def ")) return false;
  std::size_t open = text.find('(');
  std::size_t first = open == std::string_view::npos ? open : text.find_first_not_of(" \t\r\n", open + 1);
  if (first == std::string_view::npos) return false;
  std::string_view parameters = text.substr(first);
  return !parameters.starts_with("self") && !parameters.starts_with("ctx") && !parameters.starts_with("cls");
}

// The context has what the kernel needs; its launcher needs PyTorch too.
std::string imports_for(std::string_view launcher, const std::string& context) {
  std::string imports;
  for (std::string_view module : {"math", "torch", "triton"}) {
    std::string line = fmt::format("import {}\n", module);
    if (launcher.find(fmt::format("{}.", module)) == std::string_view::npos) continue;
    if (!context.starts_with(line) && context.find("\n" + line) == std::string::npos) imports += line;
  }
  return imports;
}

}  // namespace

std::string cuda_prompt(std::string_view code) {
  return "Rewrite this CUDA kernel in Triton.\n\n" + fenced(code, "cuda");
}

std::string torch_prompt(std::string_view code) {
  return "Rewrite this PyTorch code with a Triton kernel.\n\n" + fenced(code, "python");
}

std::string with_launcher(const corpus::Unit& unit) {
  for (const corpus::Launch& launch : unit.launches) {
    if (!stands_alone(launch.caller_text)) continue;
    // A context that holds the launcher already would define it twice.
    if (unit.context.find(launch.caller_text) != std::string::npos) break;
    return joined(
        {imports_for(launch.caller_text, unit.context), unit.context, unit.text, launch.caller_text});
  }
  return joined({unit.context, unit.text});
}

corpus::Row pair_row(const corpus::Unit& from, const corpus::Unit& to, const Match& match) {
  corpus::Row row;
  bool cuda = from.kind != corpus::UnitKind::torch;
  std::string code = joined({from.context, from.text});
  row.kind = cuda ? corpus::RowKind::cu2triton : corpus::RowKind::torch2triton;
  row.prompt = cuda ? cuda_prompt(code) : torch_prompt(code);
  row.completion = with_launcher(to);
  row.id = corpus::row_key(row.prompt, row.completion);
  row.renamed_sha1 = near::renamed_sha1(row.prompt + row.completion);
  row.unit = from.id;
  row.source = from.place;
  row.licence = from.licence;
  row.pair = match.evidence;
  return row;
}

}  // namespace kw::pairs
