// The entries of a reference and its kernel, found by name in the text, and the names of input shapes. Both
// are decided before any process starts. A reference's entry follows from its author's text alone, unless the
// caller says that both files come from one person.
#pragma once

#include <string>

#include "base/core/result.h"
#include "types/job.h"

namespace kw {

// How a pair is called in errors, and how its entries may be found.
struct PairNames {
  std::string reference = "the reference";
  std::string kernel = "the kernel";
  // Both were named on the command line: a reference with several functions may take the name of the kernel's
  // entry, and an entry that cannot be found is an error. Otherwise the verdict reports it.
  bool by_hand = false;
  bool is_completion = false;  // the kernel is a model's answer: it keeps to the names of the prompt
};

// Sets the entries that the job leaves open and that are not recognised anyway (reference_impl, Model, the
// last module; triton_kernel_wrapper, ModelNew, <Name>New):
// - the reference's only public function or module; else, by hand, the one with the name of the kernel's
//   entry, or the only name that both sources define;
// - the kernel's function or class with the name of the reference's entry, else its only public one.
// By hand, also refuses a pair in the wrong order: a reference with Triton kernels and a kernel that has
// neither these nor native code, unless both entries are named.
Result<> find_entries(Job& job, const PairNames& names);

// Sets the entry of a task without a candidate by the first of these rules.
void find_reference_entry(Task& task);

// Refuses names of input shapes that are no parameters of the reference, and parameters without a shape, as
// far as the text of the reference shows them. `where` begins the error: "--input-shapes".
Result<> check_shape_names(const Task& task, const std::string& where);

}  // namespace kw
