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
};

std::vector<KernelFacts> find_kernels(Node root, const Aliases& aliases);

// Facts about the code on the path from the entry point.
struct HostFacts {
  bool has_entry = false;
  std::map<std::string, std::size_t> launches;  // anywhere, by kernel
  std::set<std::string> reached;                // kernels that the entry launches
  std::vector<StaticFinding> torch_work;
  std::optional<StaticFinding> unused_result;
};

HostFacts look_at_host(Node root, const Aliases& aliases, const std::vector<KernelFacts>& kernels,
                       const std::string& entry);

// As syntax::walk, but skips dead code: `if False`, and code after a return.
void walk_live(Node node, const std::function<bool(Node)>& enter);

// Every identifier in the node.
std::set<std::string> identifiers(Node node);

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

struct LaunchSite {
  Node call;
  std::vector<const KernelFacts*> kernels;  // those it may launch
};

// Whether no returned value of a function is a tensor that its kernels have stored into. `own` are the
// source's functions and methods.
std::optional<StaticFinding> unused_result(Node function, const std::vector<LaunchSite>& launches,
                                           const Aliases& aliases, const std::set<std::string>& own);

}  // namespace kw::score
