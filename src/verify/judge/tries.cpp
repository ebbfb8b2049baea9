#include "verify/judge/tries.h"

namespace kw::verify {

bool Tries::goes_on_after(const Result& result) {
  if (!result.doubt.empty() && !earlier_.is_alone) {
    doubt_ = result.doubt;
    earlier_.is_alone = true;
    return true;
  }
  if (result.lost_its_oracle) ++earlier_.oracles_lost;
  return ++made_ < most && result.fault == Fault::infrastructure;
}

}  // namespace kw::verify
