// Why an existing folder of `dataset synth` cannot be continued.
#pragma once

#include <boost/json/object.hpp>
#include <string>

namespace kw::synth {

// The options that differ between the settings of synth.json and those of this run: "--seed 0 (now 4); --from
// pack 1.2 has changed".
std::string settings_change(const boost::json::object& before, const boost::json::object& now);

}  // namespace kw::synth
