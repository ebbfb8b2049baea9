// For any bytes: records do not depend on how the text is cut into pieces, and written fields are read back
// unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/rows/formats.h"
#include "base/rows/rows.h"

namespace {

// The ends of the records when the text comes in pieces of this many bytes.
std::vector<std::size_t> ends(std::string_view text, std::size_t piece_bytes) {
  kw::table::CsvCutter cutter;
  std::vector<std::size_t> found;
  for (std::size_t at = 0; at < text.size();) {
    std::string_view piece = text.substr(at, piece_bytes);
    std::size_t end = cutter.end_of_record(piece);
    at += end == std::string_view::npos ? piece.size() : end;
    if (end == std::string_view::npos) continue;
    found.push_back(at);
    cutter.restart();
  }
  return found;
}

void must(bool holds) {
  if (!holds) std::abort();
}

void write_and_read(const std::vector<std::string>& fields) {
  std::string record = kw::table::csv_record({fields.begin(), fields.end()});
  must(ends(record, record.size()) == std::vector<std::size_t>{record.size()});
  record.pop_back();
  std::vector<std::string> again;
  must(kw::table::csv_fields(record, again).has_value() && again == fields);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::size_t> whole = ends(text, size + 1);
  must(whole == ends(text, 1) && whole == ends(text, 3));
  std::vector<std::string> fields;
  std::size_t begin = 0;
  for (std::size_t end : whole) {
    if (kw::table::csv_fields(text.substr(begin, end - begin - 1), fields)) write_and_read(fields);
    begin = end;
  }
  return 0;
}
