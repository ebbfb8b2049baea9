#include "doctor.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/core/files.h"
#include "base/core/text.h"
#include "base/process/child.h"
#include "doctor_server.h"
#include "sandbox.h"
#include "session.h"
#include "verify/judge/devices.h"
#include "verify/workers/installation.h"
#include "verify/workers/policy.h"

namespace kw::app {
namespace {

namespace json = boost::json;

std::string report_of(const Findings& findings, bool quiet) {
  std::string text;
  for (const Finding& finding : findings) {
    if (quiet && finding.grade == Grade::ok) continue;
    text += fmt::format("{:<8} {}\n", to_string(finding.grade), finding.what);
    if (!finding.remedy.empty()) text += fmt::format("{:<8} -> {}\n", "", finding.remedy);
  }
  return text;
}

json::object to_json(const Findings& findings, const json::object& probe) {
  json::array list;
  for (const Finding& finding : findings)
    list.push_back(json::object{
        {"grade", to_string(finding.grade)}, {"what", finding.what}, {"remedy", finding.remedy}});
  return {{"findings", std::move(list)}, {"python", probe}};
}

Findings examine_remote(const DoctorOptions& options) {
  Findings findings;
  if (!options.launch.empty()) findings = examine_launch_line(options.launch);
  if (options.vllm_url.empty()) return findings;
  llm::ServerOptions server;
  server.base_url = options.vllm_url;
  server.model = options.model;
  if (const char* key = std::getenv("OPENAI_API_KEY")) server.api_key = key;
  for (Finding& finding : examine_server(server)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace

void add_doctor(CLI::App& app, DoctorOptions& options) {
  app.add_option("--python", options.python, "Python with PyTorch and Triton [VIRTUAL_ENV, .venv, PATH]")
      ->type_name("PATH");
  app.add_option("--vllm-url", options.vllm_url, "check this model server instead of this machine")
      ->type_name("URL");
  app.add_option("--model", options.model, "name of the model, if the server lists several")
      ->type_name("NAME");
  app.add_option("--launch", options.launch,
                 "check the flags of this command line or script that starts vLLM")
      ->type_name("LINE|F");
  CLI::Option* json = app.add_flag("--json", options.json, "print one JSON object");
  app.add_option("--output,-o", options.output, "file for the report [standard output]")->type_name("F");
  app.add_flag("--quiet,-q", options.quiet, "report only what is missing or limited")->excludes(json);
}

int doctor(const DoctorOptions& options) {
  json::object probe;
  bool remote = !options.vllm_url.empty() || !options.launch.empty();
  Findings findings = remote ? examine_remote(options) : examine_machine(options.python, probe);
  bool able = true;
  for (const Finding& finding : findings) able = able && finding.grade != Grade::missing;
  std::string report =
      options.json ? json::serialize(to_json(findings, probe)) + "\n" : report_of(findings, options.quiet);
  if (options.output.empty())
    fmt::print("{}", report);
  else if (auto written = write_file(options.output, report); !written)
    return failed(written.error());
  return able ? 0 : 1;
}

namespace {

namespace json = boost::json;

// What else helps where a package is missing.
constexpr std::string_view choose_python =
    "name another by --python or an active environment (VIRTUAL_ENV); in a checkout `make demo` makes one";

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

Findings examine_sandbox() {
  kw_probe_result probe{};
  kw_probe(&probe);
  if (probe.error != 0)
    return {{Grade::missing, fmt::format("isolation: refused at {}: {}", probe.step, errno_text(probe.error)),
             "allow user namespaces or run as root; --allow-unsandboxed runs without a sandbox"}};
  Findings found;
  std::string level = engine::isolation_level(probe.granted);
  found.push_back({level == "process" ? Grade::missing : Grade::ok,
                   fmt::format("isolation: {} ({}), {} µs to start", level,
                               joined(engine::layer_names(probe.granted)), probe.spawn_us),
                   level == "process" ? "allow user namespaces or run as root" : ""});
  for (std::uint32_t bit = 0; bit < KW_LAYER_COUNT; ++bit)
    if (probe.errors[bit] != 0)
      found.push_back(
          {Grade::less,
           fmt::format("isolation: no {}: {}", kw_layer_name(1U << bit), errno_text(probe.errors[bit])),
           bit >= 11 ? "run as root, or delegate a cgroup; until then only rlimits apply" : ""});
  return found;
}

// The JSON object that a command of this program prints.
Result<json::object> object_from(const std::vector<std::string>& command) {
  auto child = process::start_helper(command);
  if (!child) return std::unexpected(child.error());
  FILE* stream = ::fdopen(child->second.release(), "r");
  std::string text;
  for (int c = ::fgetc(stream); c != EOF; c = ::fgetc(stream)) text += static_cast<char>(c);
  ::fclose(stream);
  if (auto finished = child->first.finish(); !finished && text.empty())
    return std::unexpected(finished.error());
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  if (error || !value.is_object()) return fail(command.front() + " answered without valid JSON");
  return value.as_object();
}

Result<json::object> ask_python(const engine::Python& python, const engine::Installation& installation) {
  for (const auto& folder : installation.python_path) {
    auto script = folder / "kernelwright/_engine/doctor_probe.py";
    if (std::filesystem::exists(script)) return object_from({python.path.string(), "-s", script.string()});
  }
  return fail("doctor_probe.py is missing from the installation", "unpack or build the program again");
}

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

bool true_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->as_bool();
}

void examine_packages(const json::object& probe, Findings& found) {
  const json::value* packages = probe.if_contains("packages");
  if (packages == nullptr || !packages->is_object()) return;
  for (const auto& [name, facts] : packages->as_object()) {
    std::string version = text_of(facts.as_object(), "version");
    bool needed = name != "pyarrow";
    if (version.empty())
      found.push_back(
          {needed ? Grade::missing : Grade::less,
           fmt::format("{}: {}", std::string_view(name), text_of(facts.as_object(), "error")),
           needed ? fmt::format("install {} into this Python, or {}", std::string_view(name), choose_python)
                  : "install pyarrow to read Parquet"});
    else
      found.push_back({Grade::ok, fmt::format("{} {}", std::string_view(name), version), ""});
  }
  const json::value* numpy = packages->as_object().if_contains("numpy");
  const bool is_there = numpy == nullptr || !text_of(numpy->as_object(), "version").empty();
  if (is_there && !true_at(probe, "numpy_ok"))
    found.push_back({Grade::less, "numpy 2.4 or newer: Triton's interpreter needs a work-around",
                     "install numpy 2.3.5, the tested version for judging without a GPU"});
}

void examine_ways(const json::object& probe, Findings& found) {
  for (auto [key, words] :
       {std::pair{"compile_sm_90", "compiles for sm_90"}, std::pair{"interpreter", "interprets"}}) {
    const json::value* facts = probe.if_contains(key);
    if (facts == nullptr || !facts->is_object()) continue;
    if (true_at(facts->as_object(), "ok"))
      found.push_back({Grade::ok, fmt::format("Triton {}", words), ""});
    else
      found.push_back({Grade::missing,
                       fmt::format("Triton: {} fails: {}", key, text_of(facts->as_object(), "error")),
                       fmt::format("install triton 3.6.0 into this Python, or {}", choose_python)});
  }
  found.push_back(text_of(probe, "nvcc").empty()
                      ? Finding{Grade::less, "no nvcc: candidates in CUDA (load_inline) are skipped",
                                "install CUDA's nvcc"}
                      : Finding{Grade::ok, "nvcc: " + text_of(probe, "nvcc"), ""});
}

// Examines whether verdicts on GPUs can come from replays.
void examine_replays(const std::vector<verify::Gpu>& gpus, Findings& found) {
  if (gpus.empty()) return;
  auto installation = engine::find_installation();
  if (!installation || !engine::records(*installation)) {
    found.push_back({Grade::less,
                     "no recorder and no replayer in this build: candidates on a GPU are judged in-process",
                     "build with PyTorch's CUDA 13 headers installed: `make build` finds them"});
    return;
  }
  for (const auto& gpu : gpus) {
    auto answer = object_from({installation->replayer.string(), "--probe", std::to_string(gpu.ordinal)});
    if (answer && true_at(*answer, "replay"))
      found.push_back({Grade::ok, fmt::format("GPU {}: recordings can be replayed", gpu.ordinal), ""});
    else
      found.push_back({Grade::less,
                       fmt::format("GPU {}: recordings cannot be replayed: {}", gpu.ordinal,
                                   answer ? text_of(*answer, "missing") : answer.error().what),
                       "install a driver for CUDA 13; until then candidates are judged in-process"});
  }
}

// Only --sanitize needs it, so a machine without it lacks nothing.
void examine_sanitizer(Findings& found) {
  const std::filesystem::path tool = engine::find_compute_sanitizer();
  found.push_back(
      tool.empty() ? Finding{Grade::less, "no compute-sanitizer: --sanitize memcheck,racecheck are not run",
                             "install the one of NVIDIA's CUDA toolkit, on PATH or in /usr/local/cuda"}
                   : Finding{Grade::ok, fmt::format("compute-sanitizer: {}", tool.string()), ""});
}

void examine_gpus(const json::object& probe, Findings& found) {
  std::vector<verify::Gpu> gpus = verify::visible_gpus();
  if (gpus.empty())
    found.push_back({Grade::less, "no NVIDIA GPU: candidates are interpreted, speed is not measured",
                     "run on a machine with a GPU, its driver and a PyTorch built for CUDA"});
  for (const auto& gpu : gpus)
    found.push_back({Grade::ok,
                     fmt::format("GPU {}: {}, driver {}", gpu.ordinal, gpu.name, verify::driver_version()),
                     ""});
  examine_replays(gpus, found);
  if (!gpus.empty()) examine_sanitizer(found);
  const json::value* cuda = probe.if_contains("cuda");
  bool seen = cuda != nullptr && cuda->is_object() && cuda->as_object().if_contains("devices") != nullptr &&
              !cuda->as_object().at("devices").as_array().empty();
  if (!gpus.empty() && !seen)
    found.push_back(
        {Grade::missing, "PyTorch does not see the GPU", "install a PyTorch that the driver supports"});
}

}  // namespace

Findings examine_machine(const std::string& chosen_python, json::object& probe) {
  Findings findings = examine_sandbox();
  auto installation = engine::find_installation();
  auto python = installation ? engine::find_python(chosen_python, *installation)
                             : Result<engine::Python>(std::unexpected(installation.error()));
  if (!python) {
    findings.push_back({Grade::missing, python.error().what, python.error().remedy});
  } else {
    findings.push_back(
        {Grade::ok, fmt::format("Python: {} (from {})", python->path.string(), python->chosen_by), ""});
    if (auto answer = ask_python(*python, *installation)) {
      probe = std::move(*answer);
      examine_packages(probe, findings);
      examine_ways(probe, findings);
    } else {
      findings.push_back({Grade::missing, answer.error().what, answer.error().remedy});
    }
    examine_gpus(probe, findings);
  }
  return findings;
}

}  // namespace kw::app
