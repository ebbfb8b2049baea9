// The flags of the options of judging (schema/options.def): device, processes, what counts as right, timing.
#pragma once

#include <CLI/CLI.hpp>

#include "schema/settings.h"

namespace kw {

// Settings must outlive the app.
void add_settings(CLI::App& app, Settings& settings);

}  // namespace kw
