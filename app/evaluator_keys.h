// Keys for evaluators, from the environment: never on a command line, never shown.
#pragma once

#include <string>

#include "http/message.h"

namespace kw::app {

struct EvaluatorKeys {
  http::Headers headers;
  std::string advice;  // what to do where the evaluator takes none of them
};

// `where` is --evaluator's word, `url` what it leads to. Keys for Modal's proxy are sent to nobody else.
EvaluatorKeys evaluator_keys(const std::string& where, const std::string& url);

}  // namespace kw::app
