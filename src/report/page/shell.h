// The shell of the page: its head with the content security policy, the style and the script. A file follows
// it with index and chunks; `view` serves it alone.
#pragma once

#include <string>
#include <string_view>

namespace kw::report {

// The policy for a file, without a network: it names the hashes of style and script. `directives` are added,
// for example "connect-src 'self'".
std::string content_security_policy(std::string_view directives = {});

struct ShellOptions {
  std::string title;
  std::string program_version;
  std::string live_token = {};         // of `view`; empty: a file
  std::string policy_directives = {};  // of content_security_policy
};

// From the doctype to the beginning of the body.
std::string shell_begin(const ShellOptions& options);
inline constexpr std::string_view shell_end = "</body>\n</html>\n";

// In the first bytes of every page of this program.
inline constexpr std::string_view page_mark = R"(<meta name="generator" content="kernelwright report )";

// The text with &, <, > and quotes as entities, and without control characters.
std::string html_text(std::string_view text);

}  // namespace kw::report
