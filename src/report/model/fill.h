// Sets the columns of a row from a trace, a verdict, or a row of a data set.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <string_view>

#include "report/model/index.h"
#include "types/trace.h"
#include "types/verdict.h"

namespace kw::report {

// The last row of the table: the facts of the best turn, and sums over all turns. Appends the turns of all
// rounds.
void fill_trace(const Trace& trace, Trust least, Rows& rows, Turns& turns);

// `fields`: the row of the output, with the row's own fields beside those of the verdict.
void fill_verdict(const Verdict& verdict, const boost::json::object& fields, Trust least, Rows& rows);

// The last row is a trace that has not ended: its best turn so far is no result yet.
void mark_unfinished(Rows& rows);

// The columns of the last row that the evidence record of a verdict gives.
void fill_evidence(const boost::json::object& verdict, Rows& rows);

// `fields`: the metadata of the row, as objects (JSON) or as flat columns (Parquet).
void fill_dataset(const boost::json::object& fields, Rows& rows);

// The licence that the fields of a row state; empty: none.
std::string licence_of(const boost::json::object& fields);

// Whether a stated licence is not permissive, or is not known. A row without a licence is not restricted.
bool is_restricted(std::string_view licence);

}  // namespace kw::report
