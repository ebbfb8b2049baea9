#include "flags/serve_flags.h"

#include "flags/parse.h"

namespace kw {
namespace {

constexpr std::uint64_t longest_time_s = std::uint64_t{10} * 366 * 24 * 3600;

std::uint64_t seconds_in(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 24 * 3600;
    default:
      return 0;
  }
}

Result<std::string> parse_url(const std::string& text) {
  if (text.starts_with("http://") || text.starts_with("https://")) return text;
  return fail("\"" + text + "\" is no URL like http://host:8471");
}

}  // namespace

Result<std::chrono::seconds> parse_time(const std::string& text) {
  std::string digits = text;
  std::uint64_t unit = text.empty() ? 0 : seconds_in(text.back());
  if (unit > 0)
    digits.pop_back();
  else
    unit = 1;
  auto number = parse_whole(digits, 0, longest_time_s / unit);
  if (number) return std::chrono::seconds(*number * unit);
  return fail("\"" + text + "\" is no time: give seconds, or a number with s, m, h or d");
}

void ServeFlags::add(CLI::App& app) {
  const std::string group = "Service";
  app.add_option("--host", host, "address to listen on; beyond loopback a key is needed [127.0.0.1]")
      ->type_name("ADDRESS")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--port", port, [](const std::string& text) { return parse_whole(text, 0, 65535); },
      "port; 0 for any free one, which is told on standard output [8471]")
      ->type_name("N")
      ->group(group);
  app.add_option(
         "--store", store,
         "file with all evaluations, of one service at a time [XDG_STATE_HOME/kernelwright/service.db]")
      ->type_name("F")
      ->group(group);
  app.add_option("--api-key-file", api_key_file,
                 "file with the key that clients must give [the environment's KERNELWRIGHT_API_KEY]")
      ->type_name("F")
      ->group(group);
  app.add_option("--tls-cert", tls_certificate, "certificate in PEM, with those that signed it: serves https")
      ->type_name("F")
      ->group(group);
  app.add_option("--tls-key", tls_key, "its key in PEM, without a passphrase")->type_name("F")->group(group);
  add_parsed<std::uint64_t>(app, "--max-body", max_body_bytes, parse_bytes, "largest request, like 64M [32M]")
      ->type_name("SIZE")
      ->group(group);
  add_parsed<double>(app, "--rate", rate, parse_positive, "requests a second from one address [no limit]")
      ->type_name("N")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--queue", queue, [](const std::string& text) { return parse_whole(text, 1, 10'000'000); },
      "evaluations that may wait [10000]")
      ->type_name("N")
      ->group(group);
  add_parsed<std::chrono::seconds>(app, "--retention", retention, parse_time,
                                   "how long verdicts are kept, like 12h [7d]")
      ->type_name("TIME")
      ->group(group);
  add_parsed<std::chrono::seconds>(app, "--drain", drain, parse_time,
                                   "time for what runs when the service is told to end [15s]")
      ->type_name("TIME")
      ->group(group);
  app.add_flag("--quiet", quiet, "no line of log for each request")->group(group);
  app.add_flag("--log-bodies", log_bodies, "log requests and answers whole, with the code in them")
      ->excludes("--quiet")
      ->group(group);
  // Not from the environment, where KERNELWRIGHT_EVALUATOR may name this very service.
  add_parsed<std::string>(app, "--evaluator", evaluator, parse_url,
                          "let the service at this URL judge, and keep order and verdicts here")
      ->type_name("URL")
      ->group(group);
  app.add_flag("--parent-death", parent_death, "end when the program that started this one has ended")
      ->group(group);
}

}  // namespace kw
