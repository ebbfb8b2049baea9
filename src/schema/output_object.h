// A verdict as it is handed out: its own fields, then those that its row or request carried.
#pragma once

#include <boost/json/object.hpp>

#include "schema/verdict.h"

namespace kw {

// A carried field whose name is one of the verdict's goes under "carried".
boost::json::object output_object(const Verdict& verdict, const boost::json::object& carried);

}  // namespace kw
