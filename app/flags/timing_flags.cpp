#include "flags/timing_flags.h"

#include "flags/parse.h"

namespace kw {
namespace {

Result<Trust> parse_trust(const std::string& text) {
  auto word = parse_choice(text, {"in-process", "replay"});
  if (!word) return std::unexpected(word.error());
  return *from_string<Trust>(*word);
}

}  // namespace

void TimingFlags::add(CLI::App& app) {
  const std::string group = "Timing";
  add_parsed<std::uint64_t>(
      app, "--timing-trials", trials, [](const std::string& text) { return parse_whole(text, 1, 100000); },
      "timed calls of reference and kernel [100]")
      ->type_name("N")
      ->group(group);
  add_parsed<Trust>(app, "--min-trust", min_trust, parse_trust,
                    "whose speed is believed: in-process or replay [in-process]")
      ->type_name("in-process|replay")
      ->group(group);
}

}  // namespace kw
