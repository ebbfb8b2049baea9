// CSV as RFC 4180 has it: records cut and taken apart, and written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "table/rows_records.h"

namespace kw::table {

// Newlines within quotes end no record.
class CsvCutter : public Cutter {
 public:
  std::size_t end_of_record(std::string_view piece) override;
  void restart() override { state_ = State::field; }

 private:
  enum class State { field, plain, quoted, quote };  // quote: one was seen within quotes

  State state_ = State::field;
};

// The fields of one record, without its newline. A quote within a field that does not begin with one is text,
// and so is what stands between a closing quote and the comma. Error: a quote that is never closed.
Result<> csv_fields(std::string_view record, std::vector<std::string>& fields);

}  // namespace kw::table
