// What the static look at an answer is made of: kernels, and the host code around them. Private to this
// folder.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "score/idioms.h"
#include "syntax/passes.h"
#include "syntax/tree.h"

namespace kw::score {

using syntax::Aliases;
using syntax::Node;

// A kernel with what only this folder needs to know of it.
struct KernelFacts {
  Node function;
  JitKernel kernel;
  std::string outer;                    // the function it stands in; empty: none
  std::vector<std::string> parameters;  // in order
  std::set<std::string> written;        // parameters into which it stores, as far as they can be told
  bool knows_written = true;            // false: it may store into others as well
  std::set<std::string> calls;          // other functions of the source
  bool calls_unknown = false;           // something that may store, of which we know nothing
};

std::vector<KernelFacts> find_kernels(Node root, const Aliases& aliases);

// What the way from the entry does.
struct HostFacts {
  bool has_entry = false;
  std::map<std::string, std::size_t> launches;  // anywhere, by kernel
  std::set<std::string> reached;                // kernels that the entry launches
  std::vector<StaticFinding> torch_work;
  std::optional<StaticFinding> unused_result;
};

HostFacts look_at_host(Node root, const Aliases& aliases, const std::vector<KernelFacts>& kernels,
                       const std::string& entry);

// As syntax::walk, but not into what never runs: `if False`, and what follows a return.
void walk_live(Node node, const std::function<bool(Node)>& enter);

// Every identifier in the node.
std::set<std::string> identifiers(Node node);

// The variable that an expression hangs on: out of `out.view(-1)[0]`, "self.out" of `self.out.data`. Empty:
// none.
std::string root_of(Node expression);

// The operation by which PyTorch computes; nothing for allocations, views and questions.
std::optional<std::string> torch_operation(Node node, const Aliases& aliases,
                                           const std::map<std::string, std::string>& layers);

// "torch.nn.Linear": a layer is made, and not yet called.
bool makes_layer(std::string_view path);

// Whether a call makes a tensor without looking at the values of another.
bool is_allocation(Node call, const Aliases& aliases);

struct LaunchSite {
  Node call;
  std::vector<const KernelFacts*> kernels;  // those it may launch
};

// Whether nothing that a function returns is what the kernels that it launches have stored into. `own`:
// functions and methods of the source.
std::optional<StaticFinding> unused_result(Node function, const std::vector<LaunchSite>& launches,
                                           const Aliases& aliases, const std::set<std::string>& own);

}  // namespace kw::score
