// Fallbacks: code beside a launch that lets PyTorch compute the result.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "score/checks/idiom_parts.h"

namespace kw::score {
namespace {

constexpr std::size_t most_returns = 64;  // each one searches its function

struct Work {
  std::string what;
  std::size_t line = 0;
};

class Fallbacks {
 public:
  Fallbacks(Node function, const FallbackSearch& search) : function_(function), search_(search) {}

  std::optional<StaticFinding> find(const std::vector<Node>& returns) {
    walk_live(function_.field("body"), [this](Node node) {
      if (node.is("function_definition") || node.is("lambda") || node.is("class_definition")) return false;
      if (node.is("if_statement")) look_at_if(node);
      if (node.is("try_statement")) look_at_try(node);
      if (node.is("conditional_expression")) look_at_choice(node);
      return !found_;
    });
    for (Node node : returns | std::views::take(most_returns))
      if (!found_) look_at_return(node);
    return std::move(found_);
  }

 private:
  std::optional<Work> work_in(Node piece) const {
    std::optional<Work> found;
    walk_live(piece, [&](Node node) {
      if (found || node.is("function_definition") || node.is("lambda")) return false;
      if (auto what = search_.work(node)) found = Work{*what, node.line()};
      return !found;
    });
    return found;
  }

  void take(const Work& work, std::string_view how) {
    if (!found_)
      found_ =
          StaticFinding{fmt::format("{} {}: {}", function_.field("name").text(), how, work.what), work.line};
  }

  // The work whose value a piece of code returns, or assigns to one of the names.
  std::optional<Work> result_in(Node piece, const std::set<std::string>& names) const {
    std::optional<Work> found;
    walk_live(piece, [&](Node node) {
      if (found || node.is("function_definition") || node.is("lambda")) return false;
      bool is_result = node.is("return_statement");
      if (node.is("assignment") || node.is("augmented_assignment"))
        is_result = std::ranges::any_of(targets_of(node.field("left")),
                                        [&](const std::string& name) { return names.contains(name); });
      if (is_result) found = work_in(node);
      return !found;
    });
    return found;
  }

  // A branch launches a kernel, and another one computes the same variables or returns.
  void look_at_if(Node node) {
    std::vector<Node> branches;
    for (Node child : node.named_children())
      if (child.is("block") || child.is("elif_clause") || child.is("else_clause")) branches.push_back(child);
    compare(branches, "lets PyTorch compute the result in a branch");
  }

  void compare(const std::vector<Node>& branches, std::string_view how) {
    std::set<std::string> names;
    for (Node branch : branches)
      if (search_.launches(branch)) {
        std::set<std::string> used = identifiers(branch);
        names.insert(used.begin(), used.end());
      }
    if (names.empty()) return;
    for (Node branch : branches)
      if (!search_.launches(branch))
        if (auto work = result_in(branch, names)) take(*work, how);
  }

  void look_at_try(Node node) {
    std::vector<Node> parts{node.field("body")};
    for (Node child : node.named_children())
      if (child.is("except_clause") || child.is("except_group_clause")) parts.push_back(child);
    compare(parts, "lets PyTorch compute the result if an exception is raised");
  }

  void look_at_choice(Node node) {
    auto parts = node.named_children();
    if (parts.size() != 3) return;
    for (auto [one, other] : {std::pair{parts[0], parts[2]}, std::pair{parts[2], parts[0]}})
      if (search_.launches(one) && !search_.launches(other))
        if (auto work = work_in(other)) take(*work, "lets PyTorch compute the result in a branch");
  }

  // A return of PyTorch's work, directly or by a variable that only such work has set.
  void look_at_return(Node node) {
    if (search_.launches(node)) return;
    auto work = work_in(node);
    if (!work) work = result_in(function_.field("body"), identifiers(node));
    if (work) take(*work, "returns what PyTorch computes");
  }

  Node function_;
  const FallbackSearch& search_;
  std::optional<StaticFinding> found_;
};

}  // namespace

std::optional<StaticFinding> find_fallback(Node function, const std::vector<LaunchSite>& launches,
                                           const FallbackSearch& search) {
  if (!search.launches(function.field("body"))) return {};
  return Fallbacks(function, search)
      .find(returns_without_kernel(function, launches, search.aliases, search.launches));
}

}  // namespace kw::score
