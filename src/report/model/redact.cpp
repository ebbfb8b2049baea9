#include "report/model/redact.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cctype>
#include <utility>
#include <vector>

#include "base/core/text.h"

namespace kw::report {
namespace json = boost::json;
namespace {

constexpr std::size_t longest_quoted_path = 4096;
constexpr std::size_t shortest_secret = 16;
constexpr std::size_t shortest_named_secret = 8;
constexpr std::size_t shortest_quoted_secret = 4;
constexpr std::size_t shortest_host_name = 4;
constexpr std::size_t longest_wide_address = 39;
constexpr std::size_t longest_secret = 512;

constexpr std::array<std::string_view, 21> key_beginnings = {
    "sk-",   "hf_",  "ghp_", "gho_", "ghs_",   "ghu_", "ghr_",  "github_pat_", "glpat-", "xoxb-", "xoxp-",
    "xapp-", "AKIA", "ASIA", "AIza", "nvapi-", "gsk_", "pypi-", "xai-",        "r8_",    "eyJ"};
constexpr std::array<std::string_view, 9> key_names = {"api_key",           "api-key",      "apikey",
                                                       "password",          "passwd",       "secret_key",
                                                       "secret_access_key", "access_token", "bearer"};
// Of these only long values: a tokenizer's code has many tokens.
constexpr std::array<std::string_view, 2> loose_key_names = {"token", "secret"};

bool is_hex(char c) {
  return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f');
}

// Paths also behind other letters: "-I/home/ann".
constexpr std::array<std::string_view, 3> path_roots = {"/home/", "/Users/", "/root/"};
constexpr std::array<std::string_view, 5> host_endings = {".internal", ".local", ".lan", ".corp",
                                                          ".localdomain"};
constexpr std::array<std::string_view, 17> mail_endings = {"com", "org", "net", "edu",  "gov",  "io",
                                                           "ai",  "dev", "de",  "cn",   "uk",   "fr",
                                                           "jp",  "ch",  "eu",  "info", "local"};

bool in_path(char c) {
  return is_word(c) || c == '.' || c == '-' || c == '+' || c == '/' || c == '@' || c == '%' || c == '=' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool in_secret(char c) {
  return is_word(c) || c == '-' || c == '.' || c == '+' || c == '/' || c == '=';
}

bool ends_url(char c) {
  return static_cast<unsigned char>(c) <= ' ' || std::string_view("\"'`<>()[]{}|\\,;").contains(c);
}

// The letters with which one of the words begins: most words of a text begin with another.
template <std::size_t N>
constexpr std::array<bool, 256> first_letters(const std::array<std::string_view, N>& words) {
  std::array<bool, 256> table{};
  for (std::string_view word : words) table[static_cast<unsigned char>(word.front())] = true;
  return table;
}
constexpr std::array<bool, 256> key_firsts = first_letters(key_beginnings);
constexpr std::array<bool, 256> name_firsts = first_letters(key_names);
constexpr std::array<bool, 256> loose_firsts = first_letters(loose_key_names);

bool is_in(const std::array<bool, 256>& letters, char c) {
  return letters[static_cast<unsigned char>(c)];
}

// The name of this machine; empty if it says nothing.
std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  std::string text = name.data();
  return text.size() < shortest_host_name || text.starts_with("localhost") ? std::string() : text;
}

// Goes through one text. Each `take_…` returns the number of bytes of what begins at `at`, or 0.
class Scan {
 public:
  Scan(std::string_view text, PrivateCounts& counts, std::string* out)
      : text_(text), counts_(counts), out_(out) {}

  void run() {
    while (at_ < text_.size()) {
      if (!step()) {
        if (out_) *out_ += text_[at_];
        ++at_;
      }
    }
  }

 private:
  char before() const { return at_ == 0 ? '\n' : text_[at_ - 1]; }
  char after(std::size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\n'; }

  bool step() {
    char c = text_[at_];
    if (c == '/' || c == '~') return replace(path_here(), "[path]", counts_.paths);
    if (c == ':') return url_here();
    if (c == '@') return mail_here();
    if (c == '-') return replace(private_key_here(), "[key]", counts_.keys);
    if (before() == '_' && named_key_here()) return true;
    if (is_word(before()) || !is_letter_or_digit(c)) return false;
    if (replace(wide_address_here(), "[host]", counts_.hosts)) return true;
    if (replace(inner_host_here(), "[host]", counts_.hosts)) return true;
    if (is_digit(c)) return before() != '.' && replace(address_here(), "[host]", counts_.hosts);
    if (after(1) == ':' && after(2) == '\\') return replace(windows_path_here(), "[path]", counts_.paths);
    return key_here() || named_key_here() || replace(own_host_here(), "[host]", counts_.hosts);
  }

  bool replace(std::size_t bytes, std::string_view with, std::uint64_t& count) {
    if (bytes == 0) return false;
    ++count;
    if (out_) *out_ += with;
    at_ += bytes;
    return true;
  }

  template <typename Holds>
  std::size_t run_of(std::size_t from, Holds holds) const {
    std::size_t end = from;
    while (end < text_.size() && holds(text_[end])) ++end;
    return end;
  }

  // "/a/b", "~/a"; between quotes up to the closing one.
  std::size_t path_here() const {
    char quote = before();
    const bool is_home = text_[at_] == '~';
    if (is_home ? after(1) != '/' : !is_word(after(1)) && after(1) != '.') return 0;
    auto begins = [&](std::string_view root) { return text_.substr(at_).starts_with(root); };
    if (in_path(quote) && quote != '=' && !std::ranges::any_of(path_roots, begins)) return 0;
    std::string_view path = text_.substr(at_);
    bool is_quoted = false;
    if (quote == '"' || quote == '\'' || quote == '`') {
      std::string_view line = path.substr(0, longest_quoted_path);
      line = line.substr(0, line.find('\n'));
      is_quoted = line.contains(quote);
      if (is_quoted) path = line.substr(0, line.find(quote));
    }
    // Before the search for its end, so that no text is read many times.
    if (!has_slashes(path, is_home ? 1 : 2, is_quoted)) return 0;
    if (!is_quoted) path = path.substr(0, run_of(at_ + 1, in_path) - at_);
    while (path.ends_with('.')) path.remove_suffix(1);
    return path.size();
  }

  // Whether a path that begins here has so many slashes. "/a//b" is a division.
  static bool has_slashes(std::string_view path, int wanted, bool may_have_blanks) {
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (i > 0 && !may_have_blanks && !in_path(path[i])) return false;
      if (path[i] != '/') continue;
      if (path.substr(i).starts_with("//")) return false;
      if (--wanted == 0) return true;
    }
    return false;
  }

  std::size_t windows_path_here() const {
    return run_of(at_, [](char c) { return !ends_url(c) || c == '\\'; }) - at_;
  }

  // "://HOST..." after a scheme. The scheme stays.
  bool url_here() {
    if (!text_.substr(at_).starts_with("://") || !is_letter_or_digit(before())) return false;
    std::size_t end = run_of(at_ + 3, [](char c) { return !ends_url(c); });
    if (end == at_ + 3) return false;
    return replace(end - at_, "://[host]", counts_.hosts);
  }

  // "NAME@HOST.org"; `x @ w.T` and decorators are no addresses.
  bool mail_here() {
    if (!is_letter_or_digit(before())) return false;
    std::size_t end = run_of(at_ + 1, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-'; });
    std::string_view host = text_.substr(at_ + 1, end - at_ - 1);
    while (host.ends_with('.')) host.remove_suffix(1);
    std::size_t dot = host.rfind('.');
    if (dot == std::string_view::npos ||
        std::ranges::find(mail_endings, host.substr(dot + 1)) == mail_endings.end())
      return false;
    if (out_)
      while (!out_->empty() && (is_word(out_->back()) || out_->back() == '.' || out_->back() == '+'))
        out_->pop_back();
    return replace(1 + host.size(), "[host]", counts_.hosts);
  }

  // "10.0.0.1"
  std::size_t address_here() const {
    std::size_t end = run_of(at_, [](char c) { return is_digit(c) || c == '.'; });
    std::string_view text = text_.substr(at_, end - at_);
    if (text.ends_with('.')) text.remove_suffix(1);
    if (text.size() > 15 || std::ranges::count(text, '.') != 3) return 0;
    if (end < text_.size() && is_word(text_[end])) return 0;
    int part = 0;
    int digits = 0;
    for (char c : text) {
      if (c == '.') {
        if (digits == 0) return 0;
        part = digits = 0;
        continue;
      }
      part = part * 10 + (c - '0');
      if (++digits > 3 || part > 255) return 0;
    }
    return digits == 0 ? 0 : text.size();
  }

  // "2001:db8::1"; `a[1::2]` and "12:34:56" are no addresses.
  std::size_t wide_address_here() const {
    if (before() == ':' || !is_hex(text_[at_])) return 0;
    std::size_t end = run_of(at_, [](char c) { return is_hex(c) || c == ':'; });
    std::string_view text = text_.substr(at_, end - at_);
    if (text.size() > longest_wide_address || std::ranges::count(text, ':') < 3) return 0;
    in6_addr parsed{};
    return ::inet_pton(AF_INET6, std::string(text).c_str(), &parsed) == 1 ? text.size() : 0;
  }

  // "gpu7.lab.internal"; `threading.local()` is none.
  std::size_t inner_host_here() const {
    if (before() == '.' || before() == '-') return 0;
    std::size_t end = run_of(at_, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-'; });
    std::string_view host = text_.substr(at_, end - at_);
    while (host.ends_with('.') || host.ends_with('-')) host.remove_suffix(1);
    char next = after(host.size());
    bool is_code = is_word(next) || next == '(' || next == '[' || next == '=';
    if (is_code || std::ranges::count(host, '.') < 2) return 0;
    bool is_inner = std::ranges::any_of(host_endings, [&](auto ending) { return host.ends_with(ending); });
    return is_inner ? host.size() : 0;
  }

  // "-----BEGIN PRIVATE KEY-----" up to its end, or to that of the text.
  std::size_t private_key_here() const {
    constexpr std::size_t longest_title = 64;
    std::string_view text = text_.substr(at_);
    if (!text.starts_with("-----BEGIN ")) return 0;
    std::string_view title = text.substr(0, longest_title);
    if (!title.substr(0, title.find('\n')).contains("PRIVATE KEY")) return 0;
    std::size_t end = text.find("-----END ");
    if (end == text.npos) return text.size();
    std::size_t line = text.find("KEY-----", end);
    return line == text.npos ? text.size() : line + std::string_view("KEY-----").size();
  }

  bool key_here() {
    if (!is_in(key_firsts, text_[at_])) return false;
    for (std::string_view beginning : key_beginnings) {
      if (!text_.substr(at_).starts_with(beginning)) continue;
      std::size_t end = run_of(at_, [](char c) { return is_word(c) || c == '-' || c == '.'; });
      if (end - at_ >= beginning.size() + shortest_secret) return replace(end - at_, "[key]", counts_.keys);
    }
    return false;
  }

  // `api_key = "..."`: the value alone is replaced.
  bool named_key_here() {
    char first = lower(text_[at_]);
    if (is_in(name_firsts, first))
      for (std::string_view name : key_names)
        if (iequals(text_.substr(at_, name.size()), name) && named_value(at_ + name.size(), false))
          return true;
    if (is_in(loose_firsts, first))
      for (std::string_view name : loose_key_names)
        if (iequals(text_.substr(at_, name.size()), name) && named_value(at_ + name.size(), true))
          return true;
    return false;
  }

  // The value after a name that ends at `name_end`.
  bool named_value(std::size_t name_end, bool is_loose) {
    auto separates = [](char c) { return c == ' ' || c == ':' || c == '=' || c == '"' || c == '\''; };
    std::size_t begin = run_of(name_end, separates);
    if (begin == name_end) return false;
    // Bounded: a text of nothing but names would otherwise be read from each of them to its end.
    std::string_view value = text_.substr(begin, longest_secret);
    value = {value.begin(), std::ranges::find_if_not(value, in_secret)};
    std::size_t end = begin + value.size();
    char quote = text_[begin - 1];
    bool is_quoted = (quote == '"' || quote == '\'') && end < text_.size() && text_[end] == quote &&
                     text_.substr(name_end, begin - name_end).find_first_of(":=") != std::string_view::npos;
    // A name or a call in code is no secret.
    char next = end < text_.size() ? text_[end] : '\n';
    bool is_code = next == '(' || next == '[' || (is_loose && value.contains('.'));
    bool is_secret = is_quoted ? value.size() >= (is_loose ? shortest_secret : shortest_quoted_secret)
                               : value.size() >= (is_loose ? shortest_secret : shortest_named_secret) &&
                                     !is_code && std::ranges::any_of(value, is_digit);
    if (!is_secret) return false;
    if (out_) *out_ += text_.substr(at_, begin - at_);
    at_ = begin;
    return replace(end - begin, "[key]", counts_.keys);
  }

  std::size_t own_host_here() const {
    static const std::string host = host_name();
    if (host.empty() || !text_.substr(at_).starts_with(host)) return 0;
    return is_word(after(host.size())) ? 0 : host.size();
  }

  std::string_view text_;
  PrivateCounts& counts_;
  std::string* out_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_prompt_name(std::string_view name) {
  std::string_view last = name.substr(name.rfind('.') + 1);
  return name.contains("prompt") ||
         is_one_of(last, {"messages", "full_messages", "conversation", "conversations", "system",
                          "instruction", "instructions", "question", "feedback", "feedback_given"});
}

namespace {

void leave_texts_out(json::value& value) {
  if (value.is_string()) value = nullptr;
  if (json::array* list = value.if_array())
    for (json::value& each : *list) leave_texts_out(each);
  if (json::object* object = value.if_object())
    for (auto& member : *object) leave_texts_out(member.value());
}

}  // namespace

std::string Redactor::text(std::string_view text) {
  if (!is_utf8(text)) return this->text(to_utf8(text));
  std::string out;
  if (replace_) out.reserve(text.size());
  Scan(text, counts_, replace_ ? &out : nullptr).run();
  return replace_ ? out : std::string(text);
}

std::string Redactor::setting(std::string_view text) {
  if (!text.contains('/') || text.contains("://")) return this->text(text);
  ++counts_.paths;
  return replace_ ? "[path]" : to_utf8(text);
}

void Redactor::clean(json::value& value) {
  if (value.is_object()) return clean(value.get_object());
  if (value.is_array()) {
    for (json::value& each : value.get_array()) clean(each);
    return;
  }
  if (!value.is_string()) return;
  const json::string& old = value.get_string();
  if (replace_ || !is_utf8(old))
    value = json::string(text(old));
  else
    Scan(old, counts_, nullptr).run();
}

void Redactor::clean(json::object& object) {
  std::vector<std::pair<std::string, std::string>> renamed;
  for (auto& member : object) {
    if (replace_ && is_prompt_name(member.key())) leave_texts_out(member.value());
    clean(member.value());
    if (std::string name = text(member.key()); name != member.key())
      renamed.emplace_back(member.key(), std::move(name));
  }
  for (const auto& [was, now] : renamed) {
    json::value value = std::move(object[was]);
    object.erase(was);
    object[now] = std::move(value);
  }
}

}  // namespace kw::report
