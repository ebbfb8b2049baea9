// Writes a report as one file of Markdown, JSON or CSV, and recognises such a file.
#pragma once

#include <filesystem>
#include <optional>

#include "base/core/result.h"
#include "base/core/words.h"
#include "report/model/index.h"
#include "report/summary/overview.h"

namespace kw::report {

// The word is the extension of its file.
BOOST_DEFINE_ENUM_CLASS(Form, md, json, csv)

// By the extension; none for another one.
std::optional<Form> form_of(const std::filesystem::path& file);

// Whether this program wrote the file as a report of this form, by its first bytes.
bool is_report(Form form, const std::filesystem::path& file);

// The file gets its name when it is complete.
Result<> write_report(Form form, const Index& index, const Overview& overview,
                      const std::filesystem::path& file);

}  // namespace kw::report
