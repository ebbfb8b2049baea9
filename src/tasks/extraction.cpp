#include "tasks/extraction.h"

#include <optional>
#include <vector>

#include "base/text.h"

namespace kw {
namespace {

constexpr std::string_view opening = "<triton>";
constexpr std::string_view closing = "</triton>";

struct Fence {
  std::string_view language;
  std::string_view body;
};

// The inside of the last <triton> that is closed. Where a draft left its tag open, the innermost counts.
std::optional<std::string_view> last_tagged(std::string_view text) {
  std::size_t end = text.rfind(closing);
  if (end == std::string_view::npos) return {};
  std::size_t begin = text.rfind(opening, end);
  if (begin == std::string_view::npos) return {};
  begin += opening.size();
  std::string_view inside = text.substr(begin, end - begin);
  std::size_t line_end = inside.find('\n');
  if (line_end != std::string_view::npos && trim(inside.substr(0, line_end)).empty())
    inside.remove_prefix(line_end + 1);
  return inside;
}

// The line that starts at the offset, without its newline.
std::string_view line_at(std::string_view text, std::size_t offset) {
  return text.substr(offset, text.find('\n', offset) - offset);
}

std::size_t after_line(std::string_view text, std::size_t offset) {
  std::size_t end = text.find('\n', offset);
  return end == std::string_view::npos ? text.size() : end + 1;
}

// A block that is never closed (a completion cut short) does not count.
std::vector<Fence> fences(std::string_view text) {
  std::vector<Fence> found;
  std::optional<Fence> open;
  for (std::size_t at = 0; at < text.size(); at = after_line(text, at)) {
    std::string_view line = trim(line_at(text, at));
    if (!line.starts_with("```")) continue;
    std::size_t body = after_line(text, at);
    if (!open) {
      open = Fence{trim(line.substr(3)), text.substr(body)};
      continue;
    }
    std::size_t length = at - static_cast<std::size_t>(open->body.data() - text.data());
    found.push_back({open->language, open->body.substr(0, length)});
    open.reset();
  }
  return found;
}

bool is_python(std::string_view language) {
  return language.empty() || language == "python" || language == "py" || language == "python3" ||
         language == "triton" || language == "Python";
}

std::optional<std::string_view> last_fenced(std::string_view text) {
  std::optional<std::string_view> python;
  std::optional<std::string_view> jitted;
  for (const Fence& fence : fences(text)) {
    if (is_python(fence.language)) python = fence.body;
    if (fence.body.find("@triton.jit") != std::string_view::npos) jitted = fence.body;
  }
  return jitted ? jitted : python;
}

}  // namespace

std::string extract_code(std::string_view completion) {
  if (auto tagged = last_tagged(completion)) {
    auto fenced = trim(*tagged).starts_with("```") ? last_fenced(*tagged) : std::nullopt;
    return std::string(fenced.value_or(*tagged));
  }
  return std::string(last_fenced(completion).value_or(completion));
}

bool is_completion_file(std::string_view path) {
  return path.ends_with(".md") || path.ends_with(".txt");
}

}  // namespace kw
