#include "remote_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "evaluators.h"
#include "http/url.h"
#include "version.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* key_variable = "KERNELWRIGHT_EVALUATOR_KEY";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::string(trim(value)) : "";
}

// Where --evaluator leads to.
Result<std::string> url_of(const std::string& where) {
  if (where.contains("://")) return where;
  auto file = evaluators_file();
  if (!file) return std::unexpected(file.error());
  auto known = find_evaluator(*file, where);
  if (!known) return std::unexpected(known.error());
  if (*known) return (*known)->url;
  return fail(
      fmt::format("--evaluator {}: nothing was deployed there, says {}", where, file->string()),
      fmt::format("`kernelwright deploy {}` makes it; --evaluator URL takes one that is there", where));
}

// A key for Modal's proxy is sent to nobody else.
bool is_at_modal(const std::string& where, const std::string& url) {
  if (where == "modal") return true;
  auto parsed = http::parse_url(url);
  return parsed && parsed->host.ends_with(".modal.run");
}

struct Keys {
  http::Headers headers;
  std::string advice;
};

Keys keys_for(const std::string& where, const std::string& url) {
  Keys keys;
  std::string key = environment(key_variable);
  if (!key.empty()) keys.headers.push_back({"Authorization", "Bearer " + key});
  keys.advice = key.empty() ? fmt::format("set {} to the service's key", key_variable)
                            : fmt::format("{} holds a key that it does not take", key_variable);
  if (!is_at_modal(where, url)) return keys;
  std::string token = environment("MODAL_KEY");
  std::string secret = environment("MODAL_SECRET");
  if (!token.empty() && !secret.empty()) {
    keys.headers.push_back({"Modal-Key", token});
    keys.headers.push_back({"Modal-Secret", secret});
  }
  keys.advice += token.empty() || secret.empty()
                     ? "; set MODAL_KEY and MODAL_SECRET to a proxy token of the workspace"
                     : "; MODAL_KEY and MODAL_SECRET may be of another workspace";
  return keys;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// The same for a run that goes on, another for every other run. A run that starts anew must not find what the
// one before it asked for.
std::string run_name(const RunPlace& place) {
  if (place.output.empty() || place.fresh) return random_bytes(16);
  std::error_code error;
  fs::path path = fs::weakly_canonical(place.output, error);
  if (error) path = fs::absolute(place.output, error);
  return sha256_hex_of({host_name(), fmt::format("{}", ::getuid()), path.string()});
}

}  // namespace

JobOptions job_options(const verify::Settings& settings) {
  return {.correctness_trials = settings.correctness_trials,
          .timing_trials = settings.timing_trials,
          .timing_precision = settings.timing_precision,
          .tolerance = settings.tolerance,
          .precision = settings.precision,
          .tf32 = settings.tf32,
          .move_weights = settings.move_weights,
          .timeout_s = static_cast<double>(settings.timeout.count()) / 1000};
}

Result<remote::Options> remote_options(const EvaluatorFlags& evaluator, const HostOptions& host,
                                       const RunPlace& place) {
  auto url = url_of(evaluator.where);
  if (!url) return std::unexpected(url.error());
  Keys keys = keys_for(evaluator.where, *url);
  remote::Options options;
  options.url = std::move(*url);
  options.keys = std::move(keys.headers);
  options.key_advice = std::move(keys.advice);
  options.settings = job_options(host.settings);
  options.in_flight = host.jobs;
  options.run = run_name(place);
  options.fresh = place.fresh;
  options.pace.patience = std::chrono::milliseconds(static_cast<long>(evaluator.patience_s * 1000));
  options.http.user_agent = fmt::format("kernelwright/{}", kw_version);
  return options;
}

}  // namespace kw::app
