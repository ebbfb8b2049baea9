// Parts of the static checks of an answer: kernels, and the host code around them. Private to this folder.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "code/syntax/passes.h"
#include "code/syntax/tree.h"
#include "score/checks/idioms.h"

namespace kw::score {

using syntax::Aliases;
using syntax::Node;

inline constexpr std::size_t most_values = 16;  // of one name

// A kernel, with facts that only this folder needs.
struct KernelFacts {
  Node function;
  JitKernel kernel;
  std::string outer;                    // the enclosing function; empty: none
  std::vector<std::string> parameters;  // in order
  std::set<std::string> written;        // known parameters into which it stores
  bool knows_written = true;            // false: it may store into others as well
  std::set<std::string> calls;          // other functions of the source
  bool calls_unknown = false;           // it calls an unknown function that may store
  std::vector<Node> unmasked;           // loads and stores without mask, boundary check or descriptor
  bool has_effect = false;              // it asserts or prints
  bool is_wrapped = false;              // by a decorator that is not Triton's and may launch it
  bool is_called = false;               // a device function: its arguments are another kernel's values
};

// Positional and named arguments of a call.
struct Arguments {
  std::vector<Node> placed;
  std::map<std::string, Node> named;

  explicit Arguments(Node call) {
    for (Node argument : call.field("arguments").named_children()) {
      if (argument.is("keyword_argument"))
        named.emplace(argument.field("name").text(), argument.field("value"));
      else if (!argument.is("comment"))
        placed.push_back(argument);
    }
  }
  const Node* find(const std::string& name, std::size_t place) const {
    if (auto found = named.find(name); found != named.end()) return &found->second;
    return place < placed.size() ? &placed[place] : nullptr;
  }
};

std::vector<KernelFacts> find_kernels(Node root, const Aliases& aliases);

struct LaunchSite {
  Node call;
  std::vector<const KernelFacts*> kernels;  // those it may launch
};

// Facts about the code on the path from the entry point.
struct HostFacts {
  bool has_entry = false;
  std::map<std::string, std::size_t> launches;  // anywhere, by kernel
  std::set<std::string> reached;                // kernels that the entry launches
  std::vector<StaticFinding> torch_work;
  std::optional<StaticFinding> unused_result;
  std::optional<StaticFinding> unknown_result;  // a launch or return that cannot be followed
  std::vector<Node> functions;                  // on the path; also pieces of code outside functions
  std::vector<LaunchSite> launched;             // on the path
  std::optional<StaticFinding> fallback;
};

HostFacts look_at_host(Node root, const Aliases& aliases, const std::vector<KernelFacts>& kernels,
                       const std::string& entry);

// As syntax::walk, but skips dead code: `if False`, and code after a return.
void walk_live(Node node, const std::function<bool(Node)>& enter);

// Every identifier in the node.
std::set<std::string> identifiers(Node node);

// As identifiers, with their places, but not of PyTorch's paths, and attributes with a dot before: the
// source's `relu` is neither `torch.relu` nor the method `.relu`.
void each_own_name(Node node, const Aliases& aliases,
                   const std::function<void(std::string_view name, std::size_t begin)>& take);

// The base variable of an expression: "out" of `out.view(-1)[0]`, "self.out" of `self.out.data`. Empty if
// there is none.
std::string root_of(Node expression);

// The PyTorch operation of a call that computes; empty for allocations, views and queries.
std::optional<std::string> torch_operation(Node node, const Aliases& aliases,
                                           const std::map<std::string, std::string>& layers);

// "torch.nn.Linear": a layer is constructed, not called.
bool makes_layer(std::string_view path);

// Whether a call creates a tensor without reading the values of another.
bool is_allocation(Node call, const Aliases& aliases);

// Variables of a host function ("x", "self.weight") that hold tensors, by how the function uses them.
class Tensors {
 public:
  // `known` are attributes of self that hold tensors. Of an entry, all returned values are tensors.
  Tensors(Node function, const Aliases& aliases, std::set<std::string> known, bool is_entry);

  // "the operator +" of an operation on tensors; empty for operations on sizes and other numbers.
  std::optional<std::string> operation(Node node) const;

 private:
  bool is_tensor(Node expression) const;
  void settle(const std::vector<Node>& assignments);

  const Aliases& aliases_;
  std::set<std::string> names_;
  std::set<std::size_t> results_;  // where expressions begin whose values are tensors
};

// Whether a method of tensors returns a tensor: views, conversions and computations.
bool is_tensor_method(std::string_view name);

// A place where a function that can launch a kernel returns what PyTorch computes: the other branch of an
// `if`, the handler of an exception, or another return. The three functions answer for any piece of code.
struct FallbackSearch {
  const Aliases& aliases;
  std::function<bool(Node)> launches;                    // itself or by functions that it calls
  std::function<std::optional<std::string>(Node)> work;  // PyTorch's work of one node
};
std::optional<StaticFinding> find_fallback(Node function, const std::vector<LaunchSite>& launches,
                                           const FallbackSearch& search);

// The return statements whose values no kernel has stored into. `calls_own` tells whether an expression calls
// code of the source that may launch a kernel.
std::vector<Node> returns_without_kernel(Node function, const std::vector<LaunchSite>& launches,
                                         const Aliases& aliases, const std::function<bool(Node)>& calls_own);

// The variables that an assignment's left side sets, by their base.
std::set<std::string> targets_of(Node left);

class Proofs;  // idiom_proofs.h

// The kernel's unmasked accesses for which nothing in the source proves that they stay in bounds.
std::vector<StaticFinding> unproven_accesses(const KernelFacts& kernel, const Aliases& aliases,
                                             const Proofs& proofs);

// Where the values come from that a function with launches returns.
struct ResultUse {
  std::optional<StaticFinding> unused;   // no returned value is a tensor that its kernels have stored into
  std::optional<StaticFinding> unknown;  // the launch that cannot be followed
};

// `calls_own` tells whether an expression calls a function or method of the source.
ResultUse result_use(Node function, const std::vector<LaunchSite>& launches, const Aliases& aliases,
                     const std::function<bool(Node)>& calls_own);

}  // namespace kw::score
