// Host code: code on the path from the entry, the kernels that it launches, and PyTorch operations in it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "score/checks/idiom_parts.h"

namespace kw::score {
namespace {

constexpr std::size_t most_names_followed = 24;
constexpr std::size_t longest_expression = 500;  // longer expressions are not searched for kernels

// Methods that run without an explicit call when their class is used.
bool runs_unnamed(std::string_view method) {
  return method == "__init__" || method == "__new__" || method == "forward" || method == "__call__" ||
         method == "__post_init__";
}

// Parameters, buffers and lists of layers are only containers.
bool computes_when_called(std::string_view layer) {
  return !layer.ends_with(".Parameter") && !layer.ends_with(".Buffer") && !layer.ends_with("List") &&
         !layer.ends_with("Dict");
}

struct Class {
  Node node;
  std::map<std::string, std::vector<Node>> methods;
};

bool is_entry_name(std::string_view name, const std::string& wanted) {
  if (!wanted.empty()) return name == wanted;
  return name == "ModelNew" || name == "triton_kernel_wrapper" || (name.size() > 3 && name.ends_with("New"));
}

class Host {
 public:
  Host(Node root, const Aliases& aliases, const std::vector<KernelFacts>& kernels)
      : root_(root), aliases_(aliases) {
    for (const KernelFacts& kernel : kernels) {
      kernels_[kernel.kernel.name].push_back(&kernel);
      if (!kernel.outer.empty()) kernels_[kernel.outer].push_back(&kernel);
      kernel_begins_.insert(kernel.function.begin());
    }
    survey();
  }

  HostFacts look(const std::string& entry) {
    count_launches();
    find_launching();
    find_places();
    find_tensor_attributes();
    entry_ = entry;
    for (const std::string& name : defined())
      if (is_entry_name(name, entry)) reach_name(name);
    facts_.has_entry = !waiting_.empty();
    if (!facts_.has_entry) {
      for (const std::string& name : defined()) reach_name(name);
      open_.push_back(root_);
    }
    follow();
    if (launches_parameters_) facts_.reached.insert(handed_on_.begin(), handed_on_.end());
    return std::move(facts_);
  }

 private:
  bool is_kernel(Node node) const {
    return node.is("function_definition") && kernel_begins_.contains(node.begin());
  }

  // Definitions by name.
  void survey() {
    std::vector<Node> around;
    syntax::walk(root_, [&](Node node) {
      while (!around.empty() && around.back().end() <= node.begin()) around.pop_back();
      if (is_kernel(node)) return false;
      bool is_class = node.is("class_definition");
      std::string name(node.field("name").text());
      if (is_class) {
        classes_.try_emplace(name, std::make_shared<Class>(Class{node, {}}));
      } else if (node.is("function_definition")) {
        own_.insert(name);
        if (!around.empty() && around.back().is("class_definition"))
          add_method(std::string(around.back().field("name").text()), name, node);
        else
          functions_[name].push_back(node);
      } else if (node.is("assignment")) {
        note_assignment(node, around.empty());
      }
      if (is_class || node.is("function_definition")) around.push_back(node);
      return true;
    });
  }

  void add_method(const std::string& owner, const std::string& name, Node function) {
    classes_.at(owner)->methods[name].push_back(function);
    methods_[name].push_back(function);
  }

  void note_assignment(Node node, bool is_global) {
    Node left = node.field("left");
    Node right = node.field("right");
    auto path = syntax::dotted_path(left);
    if (right.is_null()) return;
    if (left.is("pattern_list") || left.is("tuple_pattern")) return note_several(left, right, is_global);
    if (!path) return;
    auto add = [&right](std::vector<Node>& values) {
      if (values.size() < most_values) values.push_back(right);
    };
    add(assigned_[*path]);
    if (is_global && left.is("identifier")) add(globals_[*path]);
    if (!right.is("call")) return;
    auto callee = syntax::dotted_path(right.field("function"));
    if (!callee) return;
    std::string full = syntax::resolved(aliases_, *callee);
    if (makes_layer(full) && computes_when_called(full)) layers_[*path] = full;
  }

  // first, second = make(relu), make(gelu): each name may have each value.
  void note_several(Node left, Node right, bool is_global) {
    for (const std::string& name : identifiers(left)) {
      auto add = [&](std::vector<Node>& values) {
        if (values.size() < most_values) values.push_back(right);
      };
      add(assigned_[name]);
      if (is_global) add(globals_[name]);
    }
  }

  // The kernels that an expression may mean, by all names in it and the values assigned to them.
  std::vector<const KernelFacts*> kernels_of(Node expression) const {
    std::vector<const KernelFacts*> found;
    std::set<std::string> seen;
    std::vector<std::string> open;
    auto add = [&](Node node) {
      if (node.end() - node.begin() > longest_expression) return;
      if (auto path = syntax::dotted_path(node)) open.push_back(*path);
      for (const std::string& name : identifiers(node)) open.push_back(name);
    };
    add(expression);
    while (!open.empty() && seen.size() < most_names_followed) {
      std::string name = std::move(open.back());
      open.pop_back();
      if (!seen.insert(name).second) continue;
      if (auto kernels = kernels_.find(name); kernels != kernels_.end())
        found.insert(found.end(), kernels->second.begin(), kernels->second.end());
      else if (auto values = assigned_.find(name); values != assigned_.end())
        for (Node value : values->second) add(value);
    }
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return found;
  }

  // Recognises kernel[grid](…), kernel.run(…), and bound(…) where bound = kernel[grid].
  std::optional<LaunchSite> launch_of(Node call) const {
    Node function = call.field("function");
    if (function.is("subscript")) return LaunchSite{call, kernels_of(function.field("value"))};
    if (function.is("attribute") && function.field("attribute").text() == "run") {
      auto kernels = kernels_of(function.field("object"));
      if (!kernels.empty()) return LaunchSite{call, std::move(kernels)};
    }
    if (!function.is("identifier")) return {};
    auto values = assigned_.find(std::string(function.text()));
    if (values == assigned_.end()) return {};
    for (Node value : values->second)
      if (value.is("subscript"))
        if (auto kernels = kernels_of(value.field("value")); !kernels.empty())
          return LaunchSite{call, kernels};
    return {};
  }

  void count_launches() {
    syntax::walk(root_, [&](Node node) {
      if (is_kernel(node)) return false;
      if (!node.is("call")) return true;
      if (auto launch = launch_of(node))
        for (const KernelFacts* kernel : launch->kernels) ++facts_.launches[kernel->kernel.name];
      return true;
    });
  }

  std::set<std::string> defined() const {
    std::set<std::string> names;
    for (const auto& [name, nodes] : functions_) names.insert(name);
    for (const auto& [name, node] : classes_) names.insert(name);
    for (const auto& [name, nodes] : globals_) names.insert(name);
    return names;
  }

  void reach_name(const std::string& name) {
    if (named_.insert(name).second) waiting_.push_back(name);
  }

  void take_name(const std::string& name) {
    if (auto found = functions_.find(name); found != functions_.end())
      for (Node node : found->second) open_.push_back(node);
    if (auto found = globals_.find(name); found != globals_.end())
      for (Node node : found->second) open_.push_back(node);
    if (auto found = classes_.find(name); found != classes_.end()) reach_class(*found->second);
    for (const auto& one : reached_classes_) reach_method(*one, name);
  }

  void reach_class(const Class& one) {
    reached_classes_.push_back(&one);
    for (Node base : one.node.field("superclasses").named_children())
      if (base.is("identifier")) reach_base(one, std::string(base.text()));
    for (const auto& [method, nodes] : one.methods)
      if (runs_unnamed(method) || named_.contains(method)) reach_method(one, method);
  }

  // A base's overridden methods run only if the class calls them.
  void reach_base(const Class& one, const std::string& name) {
    auto base = classes_.find(name);
    if (base == classes_.end() || base->second.get() == &one || named_.contains(name)) return;
    std::string_view text = one.node.text();
    for (const auto& [method, nodes] : one.methods)
      if (!text.contains(fmt::format(").{}(", method)) && !text.contains(fmt::format("{}.{}(", name, method)))
        overridden_.insert({base->second.get(), method});
    reach_name(name);
  }

  void reach_method(const Class& one, const std::string& method) {
    auto found = one.methods.find(method);
    if (found == one.methods.end() || overridden_.contains({&one, method})) return;
    if (taken_methods_.insert({&one, method}).second)
      open_.insert(open_.end(), found->second.begin(), found->second.end());
  }

  void follow() {
    while (!waiting_.empty() || !open_.empty()) {
      if (!waiting_.empty()) {
        std::string name = std::move(waiting_.back());
        waiting_.pop_back();
        take_name(name);
        continue;
      }
      Node node = open_.back();
      open_.pop_back();
      if (visited_.insert({node.begin(), node.end()}).second) visit(node);
    }
  }

  void visit(Node node) {
    bool is_function = node.is("function_definition");
    std::set<std::string> parameters;
    if (is_function) parameters = identifiers(node.field("parameters"));
    std::vector<LaunchSite> launches;
    Tensors tensors(node, aliases_, tensor_attributes_, is_function && returns_tensors(node));
    walk_live(is_function ? node.field("body") : node, [&](Node inner) {
      if (is_kernel(inner) || inner.is("class_definition")) return false;
      if (inner.is("identifier")) reach_name(std::string(inner.text()));
      look_at_work(inner, tensors);
      if (inner.is("call")) look_at_call(inner, parameters, launches);
      return true;
    });
    if (is_function && !launches.empty()) look_at_result(node, launches);
    if (is_function && !facts_.fallback) look_for_fallback(node, tensors, launches);
    facts_.functions.push_back(node);
    facts_.launched.insert(facts_.launched.end(), launches.begin(), launches.end());
  }

  void look_at_result(Node function, const std::vector<LaunchSite>& launches) {
    ResultUse use = result_use(function, launches, aliases_, [this](Node piece) { return calls_own(piece); });
    if (!facts_.unused_result) facts_.unused_result = std::move(use.unused);
    if (!facts_.unknown_result) facts_.unknown_result = std::move(use.unknown);
  }

  bool returns_tensors(Node function) const {
    std::string_view name = function.field("name").text();
    return name == "forward" || is_entry_name(name, entry_);
  }

  void find_tensor_attributes() {
    for (const auto& [path, values] : assigned_)
      if (path.starts_with("self.") && std::ranges::any_of(values, [this](Node value) {
            if (!value.is("call")) return false;
            auto callee = syntax::dotted_path(value.field("function"));
            std::string full = callee ? syntax::resolved(aliases_, *callee) : "";
            return full == "torch.nn.Parameter" || full == "torch.nn.Buffer" ||
                   is_allocation(value, aliases_);
          }))
        tensor_attributes_.insert(path);
  }

  bool calls_own(Node piece) const { return holds_place(own_places_, piece); }

  bool launches_in(Node piece) const { return holds_place(launch_places_, piece); }

  static bool holds_place(const std::vector<std::size_t>& places, Node piece) {
    auto next = std::ranges::lower_bound(places, piece.begin());
    return next != places.end() && *next < piece.end();
  }

  // The functions, classes, methods (".name") and attributes of self by which code launches a kernel: those
  // that name a kernel, and those that name one of them.
  void find_launching() {
    std::map<std::string, std::set<std::string>> users;  // of a name: the definitions with it
    auto note = [&](const std::string& definition, const std::vector<Node>& nodes) {
      for (Node node : nodes)
        each_own_name(node, aliases_, [&](std::string_view name, std::size_t) {
          users[std::string(name)].insert(definition);
        });
    };
    for (const auto& [name, nodes] : functions_) note(name, nodes);
    for (const auto& [name, one] : classes_)
      for (const auto& [method, nodes] : one->methods) {
        note("." + method, nodes);
        users["." + method].insert(name);
      }
    for (const auto& [path, values] : assigned_)
      if (path.starts_with("self.")) note(path.substr(4), values);
    for (const auto& [name, values] : globals_) note(name, values);

    std::vector<std::string> open;
    for (const auto& [name, kernels] : kernels_) open.push_back(name);
    while (!open.empty()) {
      std::string name = std::move(open.back());
      open.pop_back();
      for (const std::string& user : users[name])
        if (launching_.insert(user).second) open.push_back(user);
    }
    // Every module has these; a reference's forward launches nothing.
    launching_.erase(".forward");
    launching_.erase(".__init__");
  }

  // Where the source names what launches a kernel, and where it names functions and methods of its own.
  void find_places() {
    each_own_name(root_, aliases_, [this](std::string_view name, std::size_t begin) {
      std::string text(name);
      if (launching_.contains(text) || kernels_.contains(text)) launch_places_.push_back(begin);
      if (own_.contains(text.starts_with('.') ? text.substr(1) : text)) own_places_.push_back(begin);
    });
    std::ranges::sort(launch_places_);
    std::ranges::sort(own_places_);
  }

  // PyTorch's work of one node, also by a function of the source that launches no kernel.
  std::optional<std::string> work_of(Node node, const Tensors& tensors, int depth = 0) const {
    constexpr int deepest_call = 3;
    if (auto operation = torch_operation(node, aliases_, layers_)) return operation;
    if (auto operation = tensors.operation(node)) return operation;
    if (!node.is("call") || depth >= deepest_call) return {};
    Node function = node.field("function");
    bool is_method = function.is("attribute");
    std::string name(is_method ? function.field("attribute").text() : function.text());
    if (launching_.contains(is_method ? "." + name : name)) return {};
    const auto& functions = is_method ? methods_ : functions_;
    if (auto found = functions.find(name); found != functions.end())
      for (Node one : found->second)
        if (const auto& work = result_work(one, depth + 1)) return fmt::format("{} in {}", *work, name);
    return {};
  }

  // PyTorch's work in the values that a function returns. Each function is searched once for a depth: code
  // that calls many functions of one name would take forever otherwise.
  const std::optional<std::string>& result_work(Node function, int depth) const {
    auto [known, is_new] = result_works_.try_emplace({function.begin(), depth});
    if (!is_new) return known->second;
    Tensors tensors(function, aliases_, {}, false);
    std::optional<std::string> work;
    walk_live(function.field("body"), [&](Node node) {
      if (work || node.is("function_definition") || node.is("lambda")) return false;
      work = work_of(node, tensors, depth);
      return !work;
    });
    known->second = std::move(work);
    return known->second;
  }

  void look_for_fallback(Node function, const Tensors& tensors, const std::vector<LaunchSite>& launches) {
    FallbackSearch search{aliases_, [this](Node piece) { return launches_in(piece); },
                          [&](Node node) { return work_of(node, tensors); }};
    facts_.fallback = find_fallback(function, launches, search);
  }

  void look_at_work(Node node, const Tensors& tensors) {
    auto operation = torch_operation(node, aliases_, layers_);
    if (!operation) operation = tensors.operation(node);
    if (operation)
      if (worked_.insert(node.begin()).second) facts_.torch_work.push_back({*operation, node.line()});
  }

  void look_at_call(Node call, const std::set<std::string>& parameters, std::vector<LaunchSite>& launches) {
    if (auto launch = launch_of(call)) {
      for (const KernelFacts* kernel : launch->kernels) facts_.reached.insert(kernel->kernel.name);
      bool by_parameter = launch->kernels.empty() &&
                          parameters.contains(std::string(call.field("function").field("value").text()));
      launches_parameters_ = launches_parameters_ || by_parameter;
      if (by_parameter || !launch->kernels.empty()) launches.push_back(std::move(*launch));
    }
    for (Node argument : call.field("arguments").named_children())
      if (argument.is("identifier"))
        if (auto kernels = kernels_.find(std::string(argument.text())); kernels != kernels_.end())
          for (const KernelFacts* kernel : kernels->second) handed_on_.insert(kernel->kernel.name);
  }

  Node root_;
  const Aliases& aliases_;
  std::map<std::string, std::vector<const KernelFacts*>>
      kernels_;  // by their names and those of the functions that create them
  std::set<std::size_t> kernel_begins_;
  std::set<std::string> own_;  // functions and methods
  std::map<std::string, std::vector<Node>> functions_;
  std::map<std::string, std::shared_ptr<Class>> classes_;
  std::map<std::string, std::vector<Node>> methods_;  // of all classes
  std::map<std::string, std::vector<Node>> globals_;
  std::map<std::string, std::vector<Node>> assigned_;
  std::map<std::string, std::string> layers_;  // "self.linear" → torch.nn.Linear
  std::set<std::string> launching_;         // names of functions, methods and attributes that launch a kernel
  std::vector<std::size_t> launch_places_;  // sorted
  std::vector<std::size_t> own_places_;     // sorted
  mutable std::map<std::pair<std::size_t, int>, std::optional<std::string>> result_works_;
  std::set<std::string> tensor_attributes_;  // "self.weight"
  std::string entry_;
  std::set<std::string> named_;
  std::vector<const Class*> reached_classes_;
  std::set<std::pair<const Class*, std::string>> overridden_;
  std::set<std::pair<const Class*, std::string>> taken_methods_;
  std::vector<std::string> waiting_;  // names to look up
  std::vector<Node> open_;            // code to examine
  std::set<std::pair<std::size_t, std::size_t>> visited_;
  std::set<std::size_t> worked_;
  bool launches_parameters_ = false;  // a launched kernel is a parameter of its function
  std::set<std::string> handed_on_;
  HostFacts facts_;
};

}  // namespace

HostFacts look_at_host(Node root, const Aliases& aliases, const std::vector<KernelFacts>& kernels,
                       const std::string& entry) {
  return Host(root, aliases, kernels).look(entry);
}

}  // namespace kw::score
