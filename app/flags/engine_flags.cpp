#include "flags/engine_flags.h"

#include <fmt/format.h>

#include "flags/parse.h"

namespace kw {

Result<DeviceChoice> parse_device(const std::string& text) {
  using Kind = DeviceChoice::Kind;
  if (text == "auto") return DeviceChoice{Kind::automatic, {}};
  if (text == "cpu") return DeviceChoice{Kind::cpu, {}};
  if (text == "cuda") return DeviceChoice{Kind::cuda, {}};
  if (text.starts_with("cuda:"))
    if (auto ordinal = parse_whole(text.substr(5), 0, 1023))
      return DeviceChoice{Kind::cuda, static_cast<int>(*ordinal)};
  return fail(fmt::format("\"{}\" is none of auto, cpu, cuda, cuda:N", text));
}

void EngineFlags::add(CLI::App& app) {
  const std::string group = "Engine";
  add_parsed<DeviceChoice>(app, "--device", device, parse_device,
                           "auto, cpu, cuda (all GPUs) or cuda:N [auto]")
      ->type_name("D")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--jobs", jobs, [](const std::string& text) { return parse_whole(text, 1, 4096); },
      "candidates at once [what keeps the machine busy]")
      ->type_name("N")
      ->group(group);
  add_parsed<double>(app, "--timeout", timeout_s, parse_positive, "seconds a candidate may run [180]")
      ->type_name("S")
      ->group(group);
  add_parsed<std::uint64_t>(app, "--memory", memory_bytes, parse_bytes,
                            "memory of one candidate, like 8G [4G]")
      ->type_name("SIZE")
      ->group(group);
  app.add_option("--recordings", recordings,
                 "on a GPU, keep each candidate's recordings in this folder: `recording show` looks into one")
      ->type_name("FOLDER")
      ->group(group);
  app.add_option("--python", python, "Python with PyTorch and Triton [VIRTUAL_ENV, .venv, PATH]")
      ->type_name("PATH")
      ->group(group);
  app.add_flag("--allow-unsandboxed", allow_unsandboxed,
               "run candidates where the host allows no sandbox: only code that you trust")
      ->group(group);
}

}  // namespace kw
