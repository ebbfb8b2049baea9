#include "evaluator_keys.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/text.h"
#include "http/url.h"

namespace kw::app {
namespace {

constexpr const char* key_variable = "KERNELWRIGHT_EVALUATOR_KEY";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::string(trim(value)) : "";
}

bool is_at_modal(const std::string& where, const std::string& url) {
  if (where == "modal") return true;
  auto parsed = http::parse_url(url);
  return parsed && parsed->host.ends_with(".modal.run");
}

}  // namespace

EvaluatorKeys evaluator_keys(const std::string& where, const std::string& url) {
  EvaluatorKeys keys;
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

}  // namespace kw::app
