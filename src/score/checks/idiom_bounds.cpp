// Accesses without a mask: which of them need one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "score/checks/idiom_parts.h"
#include "score/checks/idiom_proofs.h"

namespace kw::score {
namespace {

using namespace std::string_view_literals;

constexpr int deepest_offset = 48;
constexpr std::size_t most_offset_steps = 20'000;

// Functions of Triton whose value is in bounds by the author's own limit, or that check bounds themselves.
constexpr std::array limiting{"where"sv,
                              "minimum"sv,
                              "min"sv,
                              "clamp"sv,
                              "maximum"sv,
                              "make_tensor_descriptor"sv,
                              "_experimental_make_tensor_descriptor"sv};

// Functions of Triton whose value is one number for the whole program.
constexpr std::array scalars{"program_id"sv, "num_programs"sv, "cdiv"sv};

// Python's functions of numbers.
constexpr std::array number_functions{"min"sv, "max"sv, "abs"sv, "int"sv, "len"sv, "range"sv};

// The extent of an address: one element, a block of these sizes, or not known.
struct Extent {
  std::set<std::string> sizes;
  bool is_known = true;
};

class Offsets {
 public:
  Offsets(const KernelFacts& kernel, const Aliases& aliases) : kernel_(kernel), aliases_(aliases) {
    syntax::walk(kernel.function.field("body"), [this](Node node) {
      if (node.is("assignment") || node.is("augmented_assignment") || node.is("named_expression")) note(node);
      return true;
    });
  }

  Extent of(Node address) {
    extent_ = {};
    seen_.clear();
    steps_ = 0;
    add(address, 0);
    return std::move(extent_);
  }

 private:
  void note(Node node) {
    bool is_walrus = node.is("named_expression");
    Node left = node.field(is_walrus ? "name" : "left");
    Node right = node.field(is_walrus ? "value" : "right");
    if (right.is_null()) return;
    for (const std::string& name : targets_of(left)) {
      auto& values = assigned_[name];
      if (values.size() < most_values) values.push_back(right);
    }
  }

  void add_all(const std::vector<Node>& nodes, int depth) {
    for (Node node : nodes) add(node.is("keyword_argument") ? node.field("value") : node, depth + 1);
  }

  void add(Node node, int depth) {
    if (depth > deepest_offset || ++steps_ > most_offset_steps) {
      extent_.is_known = false;
      return;
    }
    if (node.is("identifier")) return add_name(std::string(node.text()));
    if (node.is("call")) return add_call(node, depth);
    if (node.is("attribute")) {
      auto path = syntax::dotted_path(node);
      if (!path || !aliases_.contains(path->substr(0, path->find('.')))) add(node.field("object"), depth + 1);
      return;
    }
    if (node.is("subscript")) return add(node.field("value"), depth + 1);
    if (node.is("binary_operator") && node.field("operator").text() == "%" && is_limit(node.field("right")))
      return;
    add_all(node.named_children(), depth);
  }

  // `offsets % size` stays below the size; the remainder by the block's own size limits nothing.
  bool is_limit(Node size) const {
    return !kernel_.function.field("body").text().contains(fmt::format("tl.arange(0, {})", size.text())) &&
           !size.is("integer");
  }

  void add_name(const std::string& name) {
    if (!seen_.insert(name).second) return;
    if (auto values = assigned_.find(name); values != assigned_.end())
      for (Node value : values->second) add(value, 1);
    // The arguments of a device function may be blocks.
    bool is_parameter = std::ranges::find(kernel_.parameters, name) != kernel_.parameters.end();
    if (is_parameter && kernel_.is_called) extent_.is_known = false;
  }

  void add_call(Node call, int depth) {
    Node function = call.field("function");
    auto path = syntax::dotted_path(function);
    std::string full = path ? syntax::resolved(aliases_, *path) : "";
    Arguments arguments(call);
    if (!full.starts_with("triton.")) {
      if (function.is("attribute"))
        add(function.field("object"), depth + 1);
      else if (!syntax::lists(number_functions, full))
        extent_.is_known = false;
      return add_all(arguments.placed, depth);
    }
    std::string_view name = syntax::last_part(full);
    if (syntax::lists(scalars, name) || syntax::lists(limiting, name)) return;
    if (name == "arange") {
      if (const Node* end = arguments.find("end", 1)) extent_.sizes.emplace(end->text());
      return;
    }
    if (name == "make_block_ptr") {
      const Node* shape = arguments.find("block_shape", 4);
      if (shape == nullptr || shape->named_children().empty())
        extent_.is_known = false;
      else
        for (Node size : shape->named_children()) extent_.sizes.emplace(size.text());
      return;
    }
    add_all(call.field("arguments").named_children(), depth);
  }

  const KernelFacts& kernel_;
  const Aliases& aliases_;
  std::map<std::string, std::vector<Node>> assigned_;
  std::set<std::string> seen_;
  std::size_t steps_ = 0;
  Extent extent_;
};

// The ranges of code that run only where a test of divisibility holds.
std::vector<std::pair<std::size_t, std::size_t>> guarded_ranges(Node function, const Proofs& proofs) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  syntax::walk(function, [&](Node node) {
    if (!node.is("if_statement")) return true;
    Node condition = node.field("condition");
    std::set<std::string> names = identifiers(condition);
    bool is_opposite = condition.is("not_operator") || condition.text().contains(" or ");
    if (!is_opposite && std::ranges::any_of(names, [&](const auto& name) { return proofs.is_flag(name); }))
      ranges.emplace_back(node.field("consequence").begin(), node.field("consequence").end());
    return true;
  });
  return ranges;
}

}  // namespace

std::vector<StaticFinding> unproven_accesses(const KernelFacts& kernel, const Aliases& aliases,
                                             const Proofs& proofs) {
  std::vector<StaticFinding> doubts;
  if (kernel.unmasked.empty()) return doubts;
  Offsets offsets(kernel, aliases);
  auto guarded = guarded_ranges(kernel.function.field("body"), proofs);
  for (Node call : kernel.unmasked) {
    auto arguments = call.field("arguments").named_children();
    if (arguments.empty()) continue;
    Node address = arguments.front();
    Extent extent = offsets.of(address.is("keyword_argument") ? address.field("value") : address);
    std::erase_if(extent.sizes, [&](const std::string& size) { return proofs.proves(kernel, size); });
    bool is_guarded = std::ranges::any_of(guarded, [&](const auto& range) {
      return range.first <= call.begin() && call.end() <= range.second;
    });
    if (is_guarded || (extent.is_known && extent.sizes.empty())) continue;
    std::string why = extent.is_known ? fmt::format("nothing proves that {} divides the size",
                                                    fmt::join(extent.sizes, ", "))
                                      : "its address comes from another function";
    doubts.push_back(
        {fmt::format("{} has an access without a mask, and {}", kernel.kernel.name, why), call.line()});
  }
  return doubts;
}

}  // namespace kw::score
