// The statements of a unit's context that a row shows.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/extract/code_parts.h"

namespace kw::pairs {

// A decorator that says that the function is a kernel. It is shown also where a piece of a document imports
// nothing, because the code is no kernel without it.
bool is_jit(std::string_view decorator);

// Chooses statements of a context by the names that they define, and pays for each from `left`, a number of
// tokens. Refers to the context and to the lines `own_imports`, which stand for definitions of other files.
class ContextChoice {
 public:
  using NameSet = std::set<std::string, std::less<>>;

  // `known`: names that other code of the row defines; a definition of them in the context means another
  // thing, and is not shown.
  ContextChoice(std::string_view context, std::string_view own_imports, NameSet known,
                harvest::Language language);

  // `from module import *`, which may define any name.
  void take_stars(std::size_t& left);
  // Of each name the import that binds it.
  void take_imports(const std::vector<std::string>& names, std::size_t& left);

  // Each name's definitions with all that they need, or none of it. Where that is too much, or nothing
  // defines a part of it, the functions that they call are shown by their signatures.
  void take(const std::vector<std::string>& names, std::size_t& left);
  // The signature of a function that was not taken, so that the reader knows how to call it; whether it is
  // shown now.
  bool take_signature(const std::string& name, std::size_t& left);
  // The definitions of a name that was not taken, with imports from the kernel's own package in place of
  // definitions that are in other files; whether the name is defined now.
  bool take_imported(const std::string& name, std::size_t& left);
  // The same, where functions of the launcher's file are shown by their signatures alone and classes with
  // methods are not shown; whether the row has it now.
  bool take_short(const std::string& name, std::size_t& left);
  // The number of tokens of the shortest form in which the row can show what the name is: its definition, its
  // signature or its import; nothing where there is none.
  std::optional<std::size_t> least_tokens(const std::string& name) const;
  // The name in that form.
  void take_shortest(const std::string& name, std::size_t& left);
  // The definitions of a name that was not taken, with as much as there is of what they need.
  void take_alone(const std::string& name, std::size_t& left);

  // Whether something chosen, or Python, defines all these names.
  bool knows(const std::vector<std::string>& names) const;

  // What was chosen so far; a choice goes back to it.
  struct State {
    std::vector<bool> chosen;  // parts of the context
    std::vector<bool> signed_only;
    std::set<std::string, std::less<>> imported;  // names that own imports bind
    NameSet defined;
    bool has_star = false;
  };
  const State& state() const { return state_; }
  void go_back(State state) { state_ = std::move(state); }

  std::string imports() const;
  // The other statements, without decorators that nothing in the row defines.
  std::string definitions() const;

 private:
  // How much of what a definition needs is taken.
  enum class Extent { all, no_decorators, signatures, imported, imported_and_signatures };

  struct Signature {
    std::string text;  // "@triton.jit", "def f(x):" and a body of dots; empty for a part that is no function
    std::vector<std::string> uses;
  };

  struct Plan {
    std::set<std::size_t> whole;
    std::set<std::size_t> signatures;
    std::set<std::string, std::less<>> imported;
    std::size_t tokens = 0;
    bool is_complete = true;
  };

  Plan plan(const std::string& name, Extent extent) const;
  void add_part(std::size_t part, Extent extent, Plan& plan, std::deque<std::string>& open) const;
  // Of the plans that show all of it, the one of the fewest tokens.
  std::optional<Plan> shortest_plan(const std::string& name) const;
  bool adopt(const Plan& plan, std::size_t& left);
  bool take_one(const std::string& name, std::size_t& left);
  // Whether the part is a class with methods, or a function under a condition.
  bool holds_function(std::size_t part) const;
  void choose(std::size_t part);

  const std::vector<std::size_t>* defining(std::string_view name) const;
  bool may_come_from_elsewhere(std::string_view name) const;
  bool is_defined(std::string_view name) const;
  bool is_signed(std::string_view name) const;  // a function that is shown by its signature
  std::size_t cost(std::size_t part) const;
  std::string_view text_of(corpus::Span span) const;
  Signature signature_of(std::size_t part) const;
  void read_own_imports(std::string_view lines);

  std::string_view text_;
  harvest::Language language_;
  harvest::CodeParts context_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_name_;
  std::vector<Signature> signatures_;
  std::map<std::string, std::string, std::less<>> own_imports_;  // name → line
  State state_;
};

}  // namespace kw::pairs
