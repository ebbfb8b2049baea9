#include "remote_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/hash.h"
#include "base/random.h"
#include "evaluator_keys.h"
#include "evaluators.h"
#include "version.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

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

Result<remote::Options> remote_options(const EvaluatorFlags& evaluator, const Settings& settings,
                                       const RunPlace& place) {
  auto url = url_of(evaluator.where);
  if (!url) return std::unexpected(url.error());
  EvaluatorKeys keys = evaluator_keys(evaluator.where, *url);
  remote::Options options;
  options.url = std::move(*url);
  options.keys = std::move(keys.headers);
  options.key_advice = std::move(keys.advice);
  options.settings = job_options(settings);
  options.in_flight = settings.jobs;
  options.run = run_name(place);
  options.fresh = place.fresh;
  options.pace.patience = std::chrono::milliseconds(static_cast<long>(evaluator.patience_s * 1000));
  options.http.user_agent = fmt::format("kernelwright/{}", kw_version);
  return options;
}

}  // namespace kw::app
