#include "corpus/names.h"

#include "base/enum_words.h"

namespace kw::corpus {

BOOST_DESCRIBE_ENUM(OriginKind, folder, git, wheel, sdist, archive, run, pairs)
BOOST_DESCRIBE_ENUM(UnitKind, triton, cuda_kernel, cuda_device, torch)
BOOST_DESCRIBE_ENUM(RowKind, fim, cu2triton, torch2triton, trace)
BOOST_DESCRIBE_ENUM(CompileLabel, not_tried, compilable, fails, signature_unknown)

static_assert(enum_words::is_whole(OriginKind::pairs));
static_assert(enum_words::is_whole(UnitKind::torch));
static_assert(enum_words::is_whole(RowKind::trace));
static_assert(enum_words::is_whole(CompileLabel::signature_unknown));

std::string_view to_string(OriginKind value) {
  return enum_words::word_of(value);
}
std::string_view to_string(UnitKind value) {
  return enum_words::word_of(value);
}
std::string_view to_string(RowKind value) {
  return enum_words::word_of(value);
}
std::string_view to_string(CompileLabel value) {
  return enum_words::word_of(value);
}

std::optional<OriginKind> origin_kind(std::string_view word) {
  return enum_words::value_of<OriginKind>(word);
}
std::optional<UnitKind> unit_kind(std::string_view word) {
  return enum_words::value_of<UnitKind>(word);
}
std::optional<RowKind> row_kind(std::string_view word) {
  return enum_words::value_of<RowKind>(word);
}
std::optional<CompileLabel> compile_label(std::string_view word) {
  return enum_words::value_of<CompileLabel>(word);
}

}  // namespace kw::corpus
