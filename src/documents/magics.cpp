#include "documents/magics.h"

#include <array>

#include "base/ascii.h"
#include "base/text.h"
#include "documents/lines.h"

namespace kw::documents {
namespace {

// Magics that run the cell in the notebook's own language.
constexpr std::array<std::string_view, 6> own = {"time", "timeit", "capture", "prun", "python", "python3"};

std::string language_of_file(std::string_view name) {
  std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return "text";
  std::string_view ending = name.substr(dot + 1);
  return ending == "py" ? "python" : std::string(ending);
}

// Follows strings and brackets from line to line, as Python has them.
class Follower {
 public:
  // Whether a statement may begin where the next line does.
  bool at_statement() const { return quote_.empty() && depth_ == 0 && !joined_; }

  void take(std::string_view line) {
    joined_ = false;
    for (std::size_t at = 0; at < line.size();) {
      if (!quote_.empty())
        at = within_string(line, at);
      else if (line[at] == '#')
        return;
      else
        at = outside(line, at);
    }
    // A string of one quote ends with its line, unless that goes on.
    if (quote_.size() == 1 && !line.ends_with('\\')) quote_ = {};
    joined_ = line.ends_with('\\');
  }

 private:
  std::size_t within_string(std::string_view line, std::size_t at) {
    if (line[at] == '\\') return at + 2;
    if (!line.substr(at).starts_with(quote_)) return at + 1;
    at += quote_.size();
    quote_ = {};
    return at;
  }

  std::size_t outside(std::string_view line, std::size_t at) {
    char c = line[at];
    if (c == '"' || c == '\'') {
      std::string_view three = c == '"' ? R"(""")" : "'''";
      quote_ = line.substr(at).starts_with(three) ? three : three.substr(0, 1);
      return at + quote_.size();
    }
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    return at + 1;
  }

  std::string_view quote_;
  std::size_t depth_ = 0;
  bool joined_ = false;
};

bool is_magic(std::string_view line) {
  line = trim(line);
  if (line.starts_with('!')) return true;
  line = line.substr(line.starts_with("%%") ? 2 : line.starts_with('%') ? 1 : line.size());
  return !line.empty() && is_word(line[0]);
}

}  // namespace

std::string language_of_cell(std::string_view source) {
  std::string_view line = trim(source);
  line = trim(line.substr(0, line.find_first_of("\r\n")));
  if (!line.starts_with("%%")) return {};
  std::string_view name = line.substr(2, line.find_first_of(" \t", 2) - 2);
  for (std::string_view each : own)
    if (name == each) return {};
  if (name != "writefile" && name != "file") return std::string(name);
  return language_of_file(line.substr(line.find_last_of(" \t") + 1));
}

std::string without_magics(std::string_view source) {
  std::vector<std::size_t> begins = line_begins(source);
  std::string code;
  Follower follower;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    std::string_view whole = source.substr(begins[i], begins[i + 1] - begins[i]);
    std::string_view line = line_at(source, begins, i);
    bool magic = follower.at_statement() && is_magic(line);
    if (magic) {
      std::size_t in = indentation(line).size();
      code.append(whole.substr(0, in)).append("# ").append(whole.substr(in));
    } else {
      follower.take(line);
      code += whole;
    }
  }
  return code;
}

}  // namespace kw::documents
