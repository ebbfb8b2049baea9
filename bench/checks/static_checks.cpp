// static_checks < SOURCES.jsonl
// A line {"name": ..., "text": ..., "whole": true} is a source; whole: an answer with an entry, else a part.
// Prints one JSON object a line: the state of the source, of each check, and each reason with its line.
#include <boost/json.hpp>
#include <iostream>
#include <string>

#include "score/checks/idioms.h"

namespace kw::bench {
namespace {

namespace json = boost::json;

json::object states_of(const json::object& source) {
  score::IdiomOptions options;
  options.is_whole_answer = source.at("whole").as_bool();
  score::Idioms found = score::find_idioms(source.at("text").as_string(), options);
  std::size_t launches = 0;
  for (const score::JitKernel& kernel : found.kernels) launches += kernel.launches;
  json::object checks;
  json::array reasons;
  for (const score::CheckResult& one : found.checks) {
    checks[to_string(one.check)] = to_string(one.state);
    for (const StaticFinding& why : one.why)
      reasons.push_back(json::object{{"check", to_string(one.check)},
                                     {"state", to_string(one.state)},
                                     {"what", why.what},
                                     {"line", why.line}});
  }
  return {{"name", source.at("name")},    {"state", to_string(found.state)},
          {"good", found.is_good},        {"kernels", found.kernels.size()},
          {"launches", launches},         {"checks", std::move(checks)},
          {"reasons", std::move(reasons)}};
}

}  // namespace
}  // namespace kw::bench

int main() {
  for (std::string line; std::getline(std::cin, line);)
    if (!line.empty())
      std::cout << boost::json::serialize(kw::bench::states_of(boost::json::parse(line).as_object())) << "\n";
}
