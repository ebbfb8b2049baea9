// The words of the enumerations, as they stand in files.
#pragma once

#include <optional>
#include <string_view>

#include "corpus/row.h"
#include "corpus/unit.h"

namespace kw::corpus {

std::string_view to_string(OriginKind value);
std::string_view to_string(UnitKind value);
std::string_view to_string(RowKind value);
std::string_view to_string(CompileLabel value);

std::optional<OriginKind> origin_kind(std::string_view word);
std::optional<UnitKind> unit_kind(std::string_view word);
std::optional<RowKind> row_kind(std::string_view word);
std::optional<CompileLabel> compile_label(std::string_view word);

}  // namespace kw::corpus
