// `kernelwright dataset discover`: the list of sources.
#pragma once

#include "options/dataset_flags.h"

namespace kw::app {

// The exit status: 0, or 1 if no source matches.
int dataset_discover(const DatasetDiscoverFlags& flags);

}  // namespace kw::app
