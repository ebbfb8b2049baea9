#include "extraction/extraction.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/ascii.h"
#include "base/text.h"
#include "extraction/fences.h"
#include "extraction/thought.h"

namespace kw {
namespace {

constexpr std::string_view opening = "<triton>";
constexpr std::string_view closing = "</triton>";

struct Tagged {
  std::vector<std::string_view> closed;  // insides in order; where a draft left its tag open, the innermost
  std::optional<std::string_view> open;  // what follows a last tag that is not closed
};

Tagged find_tagged(std::string_view text) {
  Tagged found;
  std::string lowered = lower(text);
  std::optional<std::size_t> begin;
  for (std::size_t at = lowered.find('<'); at != lowered.npos; at = lowered.find('<', at + 1)) {
    std::string_view rest = std::string_view(lowered).substr(at);
    if (rest.starts_with(opening)) begin = at + opening.size();
    if (rest.starts_with(closing) && begin) {
      found.closed.push_back(text.substr(*begin, at - *begin));
      begin.reset();
    }
  }
  if (begin) found.open = text.substr(*begin);
  return found;
}

// Tags that are merely spoken of stand in the middle of one line.
bool spoken_of(std::string_view text, std::string_view inside) {
  if (inside.find('\n') != std::string_view::npos) return false;
  auto tag = static_cast<std::size_t>(inside.data() - text.data()) - opening.size();
  std::size_t before = text.substr(0, tag).find_last_not_of(" \t\r");
  return before != std::string_view::npos && text[before] != '\n';
}

bool is_python(std::string_view language) {
  std::string name = lower(language);
  return name.empty() || name == "python" || name == "py" || name == "python3" || name == "triton";
}

// The body without the indentation of its fence, newlines as "\n".
std::string text_of(std::string_view body, std::size_t indentation) {
  std::string text;
  text.reserve(body.size());
  for (std::size_t at = 0; at < body.size(); at = after_line(body, at)) {
    std::string_view line = body.substr(at, after_line(body, at) - at);
    std::size_t blank = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(std::min(blank, indentation));
    bool ends = line.ends_with('\n');
    if (ends) line.remove_suffix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    text += line;
    if (ends) text += '\n';
  }
  return text;
}

std::string text_of(const Fence& fence) {
  return text_of(fence.body, fence.indentation);
}

std::optional<Fence> last_fence(const std::vector<Fence>& fences, bool closed, bool jitted) {
  std::optional<Fence> last;
  for (const Fence& fence : fences) {
    bool kernel = fence.body.find("@triton.jit") != std::string_view::npos;
    if (fence.closed == closed && (jitted ? kernel : is_python(fence.language))) last = fence;
  }
  return last;
}

std::optional<Fence> last_fence(const std::vector<Fence>& fences, bool closed) {
  auto kernel = last_fence(fences, closed, true);
  return kernel ? kernel : last_fence(fences, closed, false);
}

// A fence within the tags is taken off, and words before it; a fence further down belongs to the code.
std::string inside_of(std::string_view tagged) {
  auto fences = find_fences(tagged);
  if (!fences.empty()) {
    auto fence = last_fence(fences, true);
    if (!fence) fence = last_fence(fences, false);
    auto before = static_cast<std::size_t>(fences.front().body.data() - tagged.data());
    if (fence && !looks_like_python(tagged.substr(0, before))) return text_of(*fence);
  }
  if (trim(line_at(tagged, 0)).empty()) tagged.remove_prefix(after_line(tagged, 0));
  return text_of(tagged, 0);
}

}  // namespace

std::string extract_code(std::string_view completion) {
  Tagged tagged = find_tagged(completion);
  for (auto inside = tagged.closed.rbegin(); inside != tagged.closed.rend(); ++inside)
    if (looks_like_python(*inside)) return inside_of(*inside);
  auto fences = find_fences(completion);
  if (auto kernel = last_fence(fences, true, true)) return text_of(*kernel);
  for (auto inside = tagged.closed.rbegin(); inside != tagged.closed.rend(); ++inside)
    if (!spoken_of(completion, *inside)) return inside_of(*inside);
  if (auto python = last_fence(fences, true, false)) return text_of(*python);
  if (tagged.open && looks_like_python(*tagged.open)) return inside_of(*tagged.open);
  if (auto cut = last_fence(fences, false); cut && looks_like_python(cut->body)) return text_of(*cut);
  return looks_like_python(completion) ? text_of(completion, 0) : std::string();
}

std::string extract_answered_code(std::string_view completion) {
  auto parted = part_thought(completion, false);
  return extract_code(parted ? std::string_view(parted->answer) : completion);
}

bool is_completion_file(std::string_view path) {
  return path.ends_with(".md") || path.ends_with(".txt");
}

}  // namespace kw
