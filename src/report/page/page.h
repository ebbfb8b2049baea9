// Writes a report as a page: one HTML file, or above a size an HTML file and its data file.
// docs/report_format.md describes both.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/core/result.h"
#include "report/model/model.h"

namespace kw::report {

inline constexpr std::string_view data_file_mark = "kwdata1\n";

struct PageOptions {
  std::filesystem::path output;  // "report.html"
  std::uint64_t split_bytes = std::uint64_t{64}
                              << 20;                 // of the HTML file; above, the chunks are a second file
  std::size_t chunk_bytes = std::size_t{256} << 10;  // of the raw bytes
  // The field `summary` of the index.
  std::function<boost::json::object(const Index&)> summary;
};

struct WrittenPage {
  std::filesystem::path data_file;  // empty: all is in the HTML file
  std::uint64_t html_bytes = 0;
  std::uint64_t data_bytes = 0;
  std::uint64_t raw_bytes = 0;  // of the details
  std::size_t chunks = 0;
};

// Reads the model with all its details. Both files get their names when they are complete.
Result<WrittenPage> write_page(Model& model, const PageOptions& options);

// "report.kwdata" beside "report.html".
std::filesystem::path data_file_of(const std::filesystem::path& html);

// Whether this program wrote the file, by its first bytes.
bool is_page(const std::filesystem::path& file);
bool is_data_file(const std::filesystem::path& file);

}  // namespace kw::report
