// Values of the corpus as JSON and back. Keys are always all there; what does not apply is null.
#pragma once

#include <boost/json/object.hpp>

#include "base/result.h"
#include "corpus/row.h"
#include "corpus/unit.h"

namespace kw::corpus {

boost::json::object to_json(const Place& place);
boost::json::object to_json(const Licence& licence);
boost::json::object to_json(const Leak& leak);
boost::json::object to_json(const Labels& labels);
boost::json::object to_json(const Unit& unit);

// The metadata of a row: all but prompt and completion.
boost::json::object metadata(const Row& row);
// prompt, completion and the metadata.
boost::json::object to_json(const Row& row);

Result<Unit> unit_from_json(const boost::json::object& object);
Result<Row> row_from_json(const boost::json::object& object);

}  // namespace kw::corpus
