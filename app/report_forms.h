// The forms of a report besides its page: Markdown, JSON, CSV, and the figures.
#pragma once

#include <optional>
#include <string>

#include "base/core/result.h"
#include "report/forms/form_files.h"

namespace kw::app {

// The form that the extension of --output names; none for a page (.html). Another extension is an error.
Result<std::optional<report::Form>> form_of_output(const std::string& output);

// Replaces an earlier report of this form, and no other file.
Result<> write_form(report::Form form, const report::Index& index, const report::Overview& overview,
                    const std::string& output);

// Writes the figures into the folder with the Python of `python`, or the one that is found. Names on standard
// output what was drawn and what was not, unless it is quiet.
Result<> write_figures(const report::Index& index, const report::Overview& overview,
                       const std::string& folder, const std::string& python, bool quiet);

}  // namespace kw::app
