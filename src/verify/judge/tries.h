// The tries at one verdict: whether another one follows, and how it is made.
#pragma once

#include <optional>
#include <string>

#include "types/verdict.h"

namespace kw::verify {

class Tries {
 public:
  // The number of tries while the fault is the infrastructure's.
  static constexpr int most = 3;

  // What a try knows of those before it.
  struct Earlier {
    int oracles_lost = 0;   // while the reference was in them
    bool is_alone = false;  // it has the device alone
  };
  const Earlier& earlier() const { return earlier_; }

  struct Result {
    std::optional<Fault> fault;
    bool lost_its_oracle = false;
    std::string doubt = {};  // how neighbours may have caused it; empty: they have not
  };
  // Whether another try follows one of this result. A result in doubt does not count: the job is judged again
  // alone on the device, once, and then nothing is in doubt. A wrong result never is.
  bool goes_on_after(const Result& result);

  // Why the job was judged again alone; empty: it was not.
  const std::string& doubt() const { return doubt_; }

 private:
  Earlier earlier_;
  std::string doubt_;
  int made_ = 0;
};

}  // namespace kw::verify
