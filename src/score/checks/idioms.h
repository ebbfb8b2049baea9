// Static checks of a Triton answer by its syntax tree. They run no code and decide nothing, since an answer
// can hide its behaviour; the verifier checks the actual launches. If the path from the entry point cannot
// be followed (star imports, functions of other modules, arguments behind *), the checks make no claim.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/words.h"
#include "code/syntax/static_findings.h"
#include "dataset/units/row.h"

namespace kw::score {

// fail: the text shows a fault. unproven: it neither shows one nor proves that there is none. pass: all else.
BOOST_DEFINE_ENUM_CLASS(CheckState, pass, unproven, fail)

// parses: it is Python. allowed: nothing forbidden occurs. has_kernel: a function is under @triton.jit.
// launched: the entry's code launches one. stores: a launched kernel stores. result_used: the entry returns
// what kernels have stored into. no_fallback: nowhere does PyTorch compute the result instead. loads: a
// kernel reads something. in_bounds: each access has a mask, a boundary check, or a proof that it needs none.
// defined: of a filled hole, whose caller checks it: nothing uses a name that nothing defines.
// Three checks cannot fail and are unproven at worst: no_fallback, loads (in a hole it fails), in_bounds.
BOOST_DEFINE_ENUM_CLASS(Check, parses, allowed, has_kernel, launched, stores, result_used, no_fallback, loads,
                        in_bounds, defined)

struct CheckResult {
  Check check = Check::parses;
  CheckState state = CheckState::pass;
  std::vector<StaticFinding> why;  // the state is not pass: each reason with its line
};

// A function with a Triton decorator.
struct JitKernel {
  std::string name;
  std::size_t line = 0;      // from 1
  std::size_t launches = 0;  // name[grid](…), name.run(…): anywhere
  bool is_reached =
      false;  // launched, or called by such a kernel, from the entry; where there is no entry, from anywhere
  std::size_t loads = 0;
  std::size_t masked_loads = 0;  // with mask or boundary_check
  std::size_t stores = 0;        // atomics count as stores
  std::size_t masked_stores = 0;
  std::size_t constexpr_parameters = 0;
  std::vector<std::size_t> unmasked_store_lines;
  std::vector<StaticFinding> doubts;  // accesses to memory that nothing proves to be in bounds
  corpus::Labels labels;              // masked_loads, boundary_check, shared_memory, atomics, autotune
};

// no_kernel: no function under @triton.jit, and no native code either. not_launched: there is a kernel, and
// the entry's code never launches it. does_nothing: kernels are launched, but none of them stores anything.
// result_unused: no kernel has stored into the values that the entry returns.
BOOST_DEFINE_ENUM_CLASS(Disguise, none, no_kernel, not_launched, does_nothing, result_unused)

struct IdiomOptions {
  // A complete answer has an entry point and launches its kernels. For a part (a completion, a translated
  // kernel alone) only the kernels are checked, and not_launched and result_unused never occur.
  bool is_whole_answer = true;
  std::string entry;  // empty: ModelNew, triton_kernel_wrapper, or any name that ends with New
};

struct Idioms {
  bool parses = false;
  std::size_t error_line = 0;  // 0: none, or nowhere in particular
  bool has_jit = false;
  bool is_launched = false;  // some kernel is reached
  bool loads = false;        // in a kernel
  bool masked_loads = false;
  bool stores = false;
  bool masked_stores = false;    // some store, and every store, is masked, or checked at block pointers' ends
  bool boundary_checks = false;  // masks or boundary_check anywhere in a kernel
  bool constexpr_blocks = false;          // a kernel has tl.constexpr parameters
  bool native_code = false;               // CUDA or C++ of its own
  std::vector<JitKernel> kernels;         // by line
  std::vector<StaticFinding> torch_work;  // PyTorch computing on the way from the entry: "torch.matmul"
  std::vector<StaticFinding> forbidden;
  std::vector<StaticFinding> findings;  // all else worth reading, by line
  Disguise disguise = Disguise::none;
  std::string why_disguised;  // one sentence; empty: none

  // In the order of Check. Of a source that does not parse or is not examined there is only that check; a
  // part has no launched, result_used and no_fallback.
  std::vector<CheckResult> checks;
  CheckState state = CheckState::fail;  // the worst of the checks

  // True if the source parses, has nothing forbidden and no disguise, and has a launched kernel (in a part:
  // a kernel) with loads and stores. Masks are not required: some shapes need none.
  bool is_good = false;
  std::string why_not_good;  // the first of these that fails; empty: good
};

Idioms find_idioms(std::string_view source, const IdiomOptions& options = {});

}  // namespace kw::score
