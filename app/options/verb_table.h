// The verbs and flags of the program, read from the parser. --help, the completion scripts and the man page
// print this table, so each flag is described once.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace kw {

// What may follow a flag, for completion.
enum class ValueKind { none, text, words, file, folder };

struct FlagInfo {
  std::vector<std::string> names;  // "--quiet", "-q", or an argument's "PATH"
  std::string value;               // as --help names it: "F"; empty for a switch
  ValueKind kind = ValueKind::none;
  std::vector<std::string> words;  // of a closed set
  bool many = false;
  bool required = false;
  bool value_is_optional = false;
  std::string help;
  std::string environment;  // variable that sets it
  std::vector<std::string> needs;
  std::vector<std::string> excludes;

  // The help with the requirement, the variable, and the flags that it needs or excludes.
  std::string full_help() const;
};

struct FlagGroup {
  std::string title;
  std::vector<FlagInfo> flags;
};

struct VerbInfo {
  std::string path;  // "dataset build"; empty for the program
  std::string name;
  std::string about;
  bool needs_verb = false;
  std::vector<FlagInfo> arguments;
  std::vector<FlagGroup> groups;
  std::vector<VerbInfo> verbs;

  // "kernelwright verify [FLAGS] [PATH...]"
  std::string usage() const;
  std::vector<FlagInfo> flags() const;
  std::vector<std::string> verb_names() const;
};

FlagInfo flag_info(const CLI::Option& option);
VerbInfo verb_info(const CLI::App& app);

// "dataset build"; empty for the program itself.
std::string path_of(const CLI::App& app);

// Calls `use` with the verb and with every verb below it.
template <typename Use>
void for_each_verb(const VerbInfo& verb, const Use& use) {
  use(verb);
  for (const VerbInfo& below : verb.verbs) for_each_verb(below, use);
}

}  // namespace kw
