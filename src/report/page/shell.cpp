#include "report/page/shell.h"

#include <fmt/format.h>

#include "base/core/crypto.h"
#include "base/core/text.h"
#include "report/page/assets.h"

namespace kw::report {
namespace {

std::string hash_source(std::string_view text) {
  return fmt::format("'sha256-{}'", base64_encoded(sha256_bytes(text)));
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string html;
  for (char c : to_plain_text(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string content_security_policy(std::string_view directives) {
  static const std::string hashes =
      fmt::format("script-src {}; style-src {}", hash_source(page_script()), hash_source(page_style()));
  return fmt::format(
      "default-src 'none'; {}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
      "trusted-types 'none'{}{}",
      hashes, directives.empty() ? "" : "; ", directives);
}

std::string shell_begin(const ShellOptions& options) {
  std::string head = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{}{}\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light "
      "dark\">\n",
      page_mark, html_text(options.program_version), content_security_policy(options.policy_directives));
  if (!options.live_token.empty())
    head += fmt::format("<meta name=\"kernelwright-live\" content=\"{}\">\n", html_text(options.live_token));
  head += fmt::format("<title>{}</title>\n<style>{}</style>\n<script>{}</script>\n</head>\n<body>\n",
                      html_text(options.title), page_style(), page_script());
  return head + "<noscript>This report needs JavaScript, and no network.</noscript>\n";
}

}  // namespace kw::report
