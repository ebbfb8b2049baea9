#include "flags/timing_flags.h"

#include "flags/parse.h"

namespace kw {
namespace {

Result<Trust> parse_trust(const std::string& text) {
  auto word = parse_choice(text, {"in-process", "replay"});
  if (!word) return std::unexpected(word.error());
  return *from_string<Trust>(*word);
}

// "eager", "eager,compile", "compile": eager is measured in any case.
Result<bool> parse_baseline(const std::string& text) {
  if (text == "eager") return false;
  if (text == "eager,compile" || text == "compile,eager" || text == "compile") return true;
  return fail("\"" + text + "\" is none of eager and eager,compile");
}

}  // namespace

void TimingFlags::add(CLI::App& app) {
  const std::string group = "Timing";
  add_parsed<std::uint64_t>(
      app, "--timing-trials", trials, [](const std::string& text) { return parse_whole(text, 1, 100000); },
      "timed calls of reference and kernel, at most [100]")
      ->type_name("N")
      ->group(group);
  add_parsed<double>(app, "--timing-precision", precision, parse_share,
                     "half of a time's 95% interval, as a share of it, at which sampling ends [0.01]")
      ->type_name("SHARE")
      ->group(group);
  add_parsed<Trust>(
      app, "--instrument", instrument, parse_trust,
      "how a GPU's candidates are judged and timed: replay, where they can be, or in-process [replay]")
      ->type_name("in-process|replay")
      ->group(group);
  add_parsed<bool>(app, "--baseline", compile_baseline, parse_baseline,
                   "what is timed beside the kernel: eager, or eager,compile for torch.compile too [eager]")
      ->type_name("B")
      ->group(group);
  add_parsed<Trust>(app, "--min-trust", min_trust, parse_trust,
                    "whose speed is believed: in-process or replay [in-process]")
      ->type_name("in-process|replay")
      ->group(group);
}

}  // namespace kw
