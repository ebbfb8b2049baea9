#include "world.h"

#include "base/core/crypto.h"

namespace kw::pairs::test {

corpus::Unit unit_of(corpus::UnitKind kind, const std::string& name, const Source& source) {
  corpus::Unit unit;
  unit.id = sha1_hex(source.before + source.text);
  unit.kind = kind;
  unit.name = name;
  unit.source.origin.name = "world";
  unit.source.path = "world.py";
  unit.licence = {.spdx = "MIT", .evidence = "LICENSE"};
  unit.text = source.text;
  std::size_t end = source.text.find(source.signature_end);
  unit.signature_bytes = end == std::string::npos ? 0 : end + source.signature_end.size();
  unit.region = source.before + source.text + source.after;
  unit.region_begin = 1'000;
  unit.source.span = {1'000 + source.before.size(), 1'000 + source.before.size() + source.text.size()};
  return unit;
}

corpus::Unit unit_of(const Function& function) {
  corpus::Unit unit;
  unit.id = sha1_hex(function.path + function.name + function.text);
  unit.kind = function.kind;
  unit.name = function.name;
  unit.source.path = function.path;
  unit.text = function.text;
  for (const std::string& name : function.parameters)
    unit.parameters.push_back({.name = name, .annotation = {}, .preset = {}, .is_constexpr = false});
  if (!function.launcher.empty())
    unit.launches.push_back({.caller = function.launcher, .caller_text = {}, .grid = {}, .arguments = {}});
  return unit;
}

Source scale_source() {
  Source source;
  source.text =
      "@triton.jit\n"
      "def scale_kernel(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):\n"
      "    \"\"\"Multiplies by a factor.\"\"\"\n"
      "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
      "    # Lanes behind the end do nothing.\n"
      "    for step in range(3):\n"
      "        x = tl.load(x_ptr + offsets, mask=offsets < n)\n"
      "        tl.store(y_ptr + offsets, x * factor, mask=offsets < n)\n";
  source.signature_end = "BLOCK: tl.constexpr):\n";
  return source;
}

}  // namespace kw::pairs::test
