// The complete result of reading a file of rows.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/rows/rows.h"
#include "support/home.h"
#include "support/world.h"

namespace kw::table {

struct Seen {
  std::unique_ptr<TextRows> rows;
  std::vector<TextRow> good;
  std::vector<RowError> bad;
  Error broken;  // the error that ended the file early
};

inline Seen read_all(const std::string& path, const ReadOptions& options = {}) {
  Seen seen;
  auto rows = open_rows(path, options);
  if (!rows) {
    seen.broken = rows.error();
    return seen;
  }
  seen.rows = std::move(*rows);
  while (true) {
    auto next = seen.rows->next();
    if (!next) seen.broken = next.error();
    if (!next || !*next) return seen;
    if (auto* row = std::get_if<TextRow>(&**next))
      seen.good.push_back(std::move(*row));
    else
      seen.bad.push_back(std::get<RowError>(std::move(**next)));
  }
}

}  // namespace kw::table
