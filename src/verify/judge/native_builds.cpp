#include "verify/judge/native_builds.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "verify/recording/elf.h"

namespace kw::verify {

std::set<std::uint64_t> code_keys(const std::vector<std::string>& cubins) {
  std::set<std::uint64_t> keys;
  for (const std::string& each : cubins) {
    auto elf = recording::Elf::of({reinterpret_cast<const std::uint8_t*>(each.data()), each.size()});
    if (!elf) continue;
    for (const recording::Elf::Kernel& kernel : elf->kernels())
      if (const std::uint64_t key = recording::code_key(kernel.code); key != 0) keys.insert(key);
  }
  return keys;
}

namespace {

std::string counted(std::size_t sources) {
  return sources == 1 ? "the source of CUDA C++ that was handed over"
                      : fmt::format("the {} sources of CUDA C++ that were handed over", sources);
}

}  // namespace

std::string about_builds(const std::vector<Launch>& launches, const engine::Attestation& found, bool builds) {
  auto unknown =
      std::ranges::find(launches, "unattested", [](const Launch& each) { return each.whose.value_or(""); });
  if (unknown == launches.end() || (!builds && found.sources == 0)) return {};
  if (!found.not_built.empty())
    return fmt::format(
        "the compile broker could not build all CUDA C++, so that names and the census tell whose {} "
        "is: {}",
        unknown->name, found.not_built.front());
  if (found.sources == 0)
    return fmt::format("{} is unattested: no source of it was handed over to the compile broker",
                       unknown->name);
  std::string text = fmt::format("{} is unattested: {} build{} other machine code", unknown->name,
                                 counted(found.sources), found.sources == 1 ? "s" : "");
  return found.wrong.empty() ? text : fmt::format("{} ({})", text, found.wrong.front());
}

}  // namespace kw::verify
