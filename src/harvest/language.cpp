#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.h"
#include "harvest/harvest.h"

namespace kw::harvest {
namespace {

constexpr std::size_t largest_helper = 32 * 1024;

bool holds(std::string_view bytes, std::string_view what) {
  return bytes.find(what) != bytes.npos;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

Language by_content(std::string_view code) {
  if (holds(code, "__global__") || holds(code, "__device__")) return Language::cuda;
  bool defines = holds(code, "def ") || holds(code, "class ");
  bool imports = holds(code, "import ") || holds(code, "@triton") || holds(code, "@jit");
  return defines && imports ? Language::python : Language::none;
}

// A small module, where helpers and constants of units may come from.
bool may_help(std::string_view bytes) {
  return bytes.size() <= largest_helper &&
         (holds(bytes, "import ") || holds(bytes, "def ") || holds(bytes, "class "));
}

}  // namespace

Language language_of(std::string_view path) {
  std::size_t slash = path.rfind('/');
  std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  std::size_t dot = name.rfind('.');
  if (dot == name.npos) return Language::none;
  std::string ending = lower(name.substr(dot + 1));
  if (is_one_of(ending, {"py", "pyi"})) return Language::python;
  if (is_one_of(ending, {"cu", "cuh", "h", "hpp", "cpp", "cc", "inl"})) return Language::cuda;
  return Language::none;
}

Language language_of(std::string_view block_language, std::string_view code) {
  std::string word = lower(block_language);
  if (is_one_of(word, {"python", "py", "python3", "ipython", "ipython3", "triton"})) return Language::python;
  if (is_one_of(word, {"cuda", "cu", "cuda-cpp", "cpp", "c++", "cc", "cxx", "c"})) return Language::cuda;
  return word.empty() ? by_content(code) : Language::none;
}

bool may_matter(std::string_view bytes, Language language) {
  switch (language) {
    case Language::python:
      return holds(bytes, "triton") || holds(bytes, "torch") || may_help(bytes);
    case Language::cuda:
      return holds(bytes, "__global__") || holds(bytes, "__device__");
    case Language::none:
      return false;
  }
  return false;
}

}  // namespace kw::harvest
