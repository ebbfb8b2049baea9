// What a verb needs of the machine before it can verify.
#pragma once

#include <memory>

#include "table/row_reader.h"
#include "verify/local_verifier.h"

namespace kw::app {

// The helper that reads Parquet runs under the Python that candidates run under.
ParquetHelper parquet_helper(const std::string& python);

// The local verifier's options for this machine; errors name what is missing and the remedy.
Result<verify::LocalVerifier::Options> on_this_host(const Settings& settings);

}  // namespace kw::app
