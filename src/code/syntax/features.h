// Features that a machine may lack, in a candidate's source.
#pragma once

#include <string_view>

namespace kw {

// Whether the source uses the feature that a process reports as missing ("cannot be run without a GPU: inline
// PTX"): a name or a string of the source contains one of the feature's words. Also true if the source
// imports a package other than PyTorch, Triton, NumPy and Python's own, because the feature may be in there.
bool may_use(std::string_view code, std::string_view reported);

// Whether a launch may take long on little data: the source has a loop, or imports a package as above.
bool may_loop(std::string_view code);

}  // namespace kw
