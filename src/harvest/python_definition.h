// One function or class: its parts as a unit has them.
#pragma once

#include <string_view>

#include "harvest/parsed_file.h"
#include "harvest/walk.h"

namespace kw::harvest {

// `whole` is a decorated_definition, function_definition or class_definition. Fills in all but kind, place's
// origin, region, context, helpers, missing and launches. A class has the parameters of its forward.
PendingUnit python_definition(Node whole, std::string_view code);

// The function or class under the decorators; `whole` itself where it has none.
Node definition_of(Node whole);

}  // namespace kw::harvest
