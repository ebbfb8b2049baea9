// The statements of a unit's context that a row shows.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/extract/code_parts.h"
#include "dataset/units/unit.h"

namespace kw::pairs {

// A decorator that says that the function is a kernel. It is shown also where a piece of a document imports
// nothing, because the code is no kernel without it.
bool is_jit(std::string_view decorator);

// Chooses statements by the names that they define, and pays for each from `left`, a number of tokens. Refers
// to the unit.
class ContextChoice {
 public:
  using NameSet = std::set<std::string, std::less<>>;

  ContextChoice(const corpus::Unit& unit, harvest::Language language);

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
  // The definitions of a name that was not taken, with as much as there is of what they need.
  void take_alone(const std::string& name, std::size_t& left);

  // Whether something chosen, or Python, defines all these names.
  bool knows(const std::vector<std::string>& names) const;

  // What was chosen so far; a choice goes back to it.
  struct State {
    std::vector<bool> chosen;  // parts of the context
    std::vector<bool> signed_only;
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
  enum class Extent { all, no_decorators, signatures };

  struct Signature {
    std::string text;  // "@triton.jit", "def f(x):" and a body of dots; empty for a part that is no function
    std::vector<std::string> uses;
  };

  struct Plan {
    std::set<std::size_t> whole;
    std::set<std::size_t> signatures;
    std::size_t tokens = 0;
    bool is_complete = true;
  };

  Plan plan(const std::string& name, Extent extent) const;
  void add_part(std::size_t part, Extent extent, Plan& plan, std::deque<std::string>& open) const;
  bool adopt(const Plan& plan, std::size_t& left);
  bool take_one(const std::string& name, std::size_t& left);
  void choose(std::size_t part);

  const std::vector<std::size_t>* defining(std::string_view name) const;
  bool may_come_from_elsewhere(std::string_view name) const;
  bool is_defined(std::string_view name) const;
  std::size_t cost(std::size_t part) const;
  std::string_view text_of(corpus::Span span) const;
  Signature signature_of(std::size_t part) const;

  const corpus::Unit& unit_;
  harvest::Language language_;
  harvest::CodeParts context_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_name_;
  std::vector<Signature> signatures_;
  State state_;
};

}  // namespace kw::pairs
