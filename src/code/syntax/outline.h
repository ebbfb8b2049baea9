// The outline of a Python source: its public functions, classes and Triton kernels with their parameters, as
// far as the text shows them. It decides about names alone; what a name is, Python decides.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

struct Parameter {
  std::string name;
  bool is_required = true;  // it has no default
  bool by_position = true;  // else by keyword only
};

// A name at the top level that can be called, or launched.
struct Definition {
  enum class Kind { function, module, kernel };

  std::string name;
  Kind kind = Kind::function;
  std::vector<Parameter> parameters = {};  // of a function; of a module's forward, without self
  bool knows_parameters = false;           // false with *args, a decorator, an inherited forward

  // False for names that begin with "_" or "test_", main, get_inputs and get_init_inputs.
  bool is_public() const;
  // "softmax(x, dim=...)"
  std::string signature() const;
};

// In the order of the source. Leaves out functions under @triton.testing.perf_report, classes without a base
// or with the base of a data class or an autograd.Function (their `name = Class.apply` is a function), and
// the block under `if __name__ == "__main__"`.
std::vector<Definition> outline(std::string_view code);

// Public lower-case names at the top level that are bound to another name or to the result of a call, which
// may be a function: `double = torch.compile(f)`.
std::vector<std::string> possible_functions(std::string_view code);

// The public ones that can be called: all but kernels.
std::vector<Definition> callables(const std::vector<Definition>& definitions);

// Null if there is none.
const Definition* find_definition(const std::vector<Definition>& definitions, std::string_view name);

// The public ones: "`softmax`, `softmax_kernel` (a Triton kernel)"; "nothing that can be called" if none.
std::string names_in_words(const std::vector<Definition>& definitions);

}  // namespace kw
