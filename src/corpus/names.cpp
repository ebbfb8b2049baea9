#include "corpus/names.h"

#include <array>
#include <utility>

namespace kw::corpus {
namespace {

template <typename Enum, std::size_t n>
using Words = std::array<std::pair<Enum, std::string_view>, n>;

constexpr Words<OriginKind, 7> origin_words{{{OriginKind::folder, "folder"},
                                             {OriginKind::git, "git"},
                                             {OriginKind::wheel, "wheel"},
                                             {OriginKind::sdist, "sdist"},
                                             {OriginKind::archive, "archive"},
                                             {OriginKind::run, "run"},
                                             {OriginKind::pairs, "pairs"}}};
constexpr Words<UnitKind, 4> unit_words{{{UnitKind::triton, "triton"},
                                         {UnitKind::cuda_kernel, "cuda_kernel"},
                                         {UnitKind::cuda_device, "cuda_device"},
                                         {UnitKind::torch, "torch"}}};
constexpr Words<RowKind, 4> row_words{{{RowKind::fim, "fim"},
                                       {RowKind::cu2triton, "cu2triton"},
                                       {RowKind::torch2triton, "torch2triton"},
                                       {RowKind::trace, "trace"}}};
constexpr Words<CompileLabel, 4> compile_words{{{CompileLabel::not_tried, "not_tried"},
                                                {CompileLabel::compilable, "compilable"},
                                                {CompileLabel::fails, "fails"},
                                                {CompileLabel::signature_unknown, "signature_unknown"}}};

template <typename Enum, std::size_t n>
std::string_view word_of(Enum value, const Words<Enum, n>& words) {
  for (const auto& [each, word] : words)
    if (each == value) return word;
  return {};
}

template <typename Enum, std::size_t n>
std::optional<Enum> value_of(std::string_view text, const Words<Enum, n>& words) {
  for (const auto& [value, word] : words)
    if (word == text) return value;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(OriginKind value) {
  return word_of(value, origin_words);
}
std::string_view to_string(UnitKind value) {
  return word_of(value, unit_words);
}
std::string_view to_string(RowKind value) {
  return word_of(value, row_words);
}
std::string_view to_string(CompileLabel value) {
  return word_of(value, compile_words);
}

std::optional<OriginKind> origin_kind(std::string_view word) {
  return value_of(word, origin_words);
}
std::optional<UnitKind> unit_kind(std::string_view word) {
  return value_of(word, unit_words);
}
std::optional<RowKind> row_kind(std::string_view word) {
  return value_of(word, row_words);
}
std::optional<CompileLabel> compile_label(std::string_view word) {
  return value_of(word, compile_words);
}

}  // namespace kw::corpus
