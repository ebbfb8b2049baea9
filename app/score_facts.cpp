#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <fstream>
#include <set>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "base/utc_now.h"
#include "revision.h"
#include "score_parts.h"
#include "verify/devices.h"
#include "version.h"

namespace kw::app {
namespace {

namespace json = boost::json;

// The value of "NAME : VALUE" in a file of the kernel's; empty where there is none.
std::string field_of(const char* file, std::string_view name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (std::size_t colon = line.find(':'); colon != std::string::npos && line.starts_with(name))
      return std::string(trim(std::string_view(line).substr(colon + 1)));
  return {};
}

json::value text_or_null(const std::optional<std::string>& text) {
  return text && !text->empty() ? json::value(*text) : json::value();
}

// The words of our own command line.
json::array command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  json::array words;
  for (std::string word; std::getline(file, word, '\0');) words.emplace_back(to_plain_text(word));
  return words;
}

}  // namespace

json::object made_facts() {
  std::error_code ignored;
  return {{"program", fmt::format("kernelwright {}", kw_version)},
          {"revision", kw_revision},
          {"created", utc_now()},
          {"command", command()},
          {"folder", to_utf8(std::filesystem::current_path(ignored).string())}};
}

json::object machine_facts() {
  utsname name{};
  ::uname(&name);
  json::array gpus;
  for (const verify::Gpu& gpu : verify::visible_gpus()) gpus.emplace_back(gpu.name);
  return {{"cpu", text_or_null(field_of("/proc/cpuinfo", "model name"))},
          {"threads", std::thread::hardware_concurrency()},
          {"memory", text_or_null(field_of("/proc/meminfo", "MemTotal"))},
          {"system", fmt::format("{} {} {}", name.sysname, name.release, name.machine)},
          {"gpus", std::move(gpus)},
          {"gpu_driver", text_or_null(verify::driver_version())}};
}

json::object protocol_facts(const ScoreOptions& options, const scoring::OutputSet& set) {
  std::set<std::string> protocols;
  for (const scoring::Output& output : set.outputs)
    if (output.record.verdict.by == scoring::JudgedBy::here && !output.record.verdict.protocol.empty())
      protocols.insert(output.record.verdict.protocol);
  if (!set.environment) return {{"protocols", json::array()}, {"note", "nothing was judged here"}};
  const Environment environment = set.environment.value_or(Environment{});
  const Settings& settings = options.settings;
  return {{"protocols", json::array(protocols.begin(), protocols.end())},
          {"device", text_or_null(environment.gpu ? environment.gpu
                                                  : std::optional<std::string>("CPU, Triton's interpreter"))},
          {"torch", text_or_null(environment.torch)},
          {"triton", text_or_null(environment.triton)},
          {"cuda", text_or_null(environment.cuda)},
          {"driver", text_or_null(environment.driver)},
          {"correctness_trials", settings.correctness_trials},
          {"timing_trials", settings.timing_trials},
          {"tolerance", settings.tolerance.name},
          {"precision", settings.precision},
          {"tf32", settings.tf32},
          {"reduce_shapes", settings.reduce_shapes},
          {"timeout_s", static_cast<double>(settings.timeout.count()) / 1000},
          {"speed_believed_from", to_string(settings.min_trust)}};
}

}  // namespace kw::app
