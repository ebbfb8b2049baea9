#include "doctor.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>

#include "doctor_machine.h"
#include "doctor_server.h"
#include "findings.h"

namespace kw::app {
namespace {

namespace json = boost::json;

const char* to_string(Grade grade) {
  switch (grade) {
    case Grade::fine:
      return "ok";
    case Grade::less:
      return "less";
    case Grade::missing:
      return "missing";
  }
  return "?";
}

void print(const Findings& findings) {
  for (const Finding& finding : findings) {
    fmt::print("{:<8} {}\n", to_string(finding.grade), finding.what);
    if (!finding.remedy.empty()) fmt::print("{:<8} -> {}\n", "", finding.remedy);
  }
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
  app.add_option("--python", options.python, "The Python that has PyTorch and Triton");
  app.add_option("--vllm-url", options.vllm_url, "Look at a model's server, and not at this machine")
      ->type_name("URL");
  app.add_option("--model", options.model, "A model of that server, where it lists several")
      ->type_name("NAME");
  app.add_option("--launch", options.launch, "The line or script that starts vLLM: are its flags right?")
      ->type_name("LINE|F");
  app.add_flag("--json", options.json, "One JSON object on standard output");
}

int doctor(const DoctorOptions& options) {
  json::object probe;
  bool remote = !options.vllm_url.empty() || !options.launch.empty();
  Findings findings = remote ? examine_remote(options) : examine_machine(options.python, probe);
  bool able = true;
  for (const Finding& finding : findings) able = able && finding.grade != Grade::missing;
  if (options.json)
    fmt::print("{}\n", json::serialize(to_json(findings, probe)));
  else
    print(findings);
  return able ? 0 : 1;
}

}  // namespace kw::app
