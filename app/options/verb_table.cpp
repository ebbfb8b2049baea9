#include "options/verb_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <sstream>

#include "options/config.h"

namespace kw {
namespace {

constexpr std::array file_values{"F", "FILE", "PATH", "RUN", "SOURCE", "F.json", "F.toml"};
constexpr std::array folder_values{"DIR", "FOLDER", "ADAPTER", "M"};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, '|');) parts.push_back(part);
  return parts;
}

// "FILE|hub" is a file or the word "hub": placeholders begin with a capital letter.
void set_kind(FlagInfo& flag, const std::string& placeholder) {
  flag.kind = ValueKind::text;
  bool is_file = false;
  bool is_folder = false;
  for (const std::string& part : split(placeholder)) {
    is_file = is_file || std::ranges::find(file_values, part) != file_values.end();
    is_folder = is_folder || std::ranges::find(folder_values, part) != folder_values.end();
    if (flag.words.empty() && std::islower(static_cast<unsigned char>(part.front())) != 0)
      flag.words.push_back(part);
  }
  if (!flag.words.empty()) flag.kind = ValueKind::words;
  if (is_folder) flag.kind = ValueKind::folder;
  if (is_file) flag.kind = ValueKind::file;
}

std::vector<std::string> names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back("--" + name_of(*option));
  std::ranges::sort(names);
  return names;
}

}  // namespace

FlagInfo flag_info(const CLI::Option& option) {
  FlagInfo flag;
  flag.help = option.get_description();
  flag.many = is_list(option);
  flag.required = option.get_required();
  flag.environment = option.get_envname();
  flag.needs = names_of(option.get_needs());
  flag.excludes = names_of(option.get_excludes());
  flag.words = split(option.get_option_text());
  if (option.get_positional()) {
    flag.names = {option.get_name(true)};
    set_kind(flag, flag.names.front());
    return flag;
  }
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  if (is_flag(option)) return flag;
  flag.value = option.get_type_name();
  flag.value_is_optional = option.get_items_expected_min() == 0;
  set_kind(flag, flag.value);
  return flag;
}

namespace {

bool is_about_the_program(const FlagGroup& group) {
  return std::ranges::all_of(group.flags, [](const FlagInfo& flag) {
    return flag.names.front() == "--help" || flag.names.front() == "--version";
  });
}

}  // namespace

std::string FlagInfo::full_help() const {
  std::string text = help;
  if (required) text += " (required)";
  if (!environment.empty()) text += fmt::format(" (environment: {})", environment);
  if (!needs.empty()) text += fmt::format(" (requires {})", fmt::join(needs, ", "));
  if (!excludes.empty()) text += fmt::format(" (excludes {})", fmt::join(excludes, ", "));
  return text;
}

std::string VerbInfo::usage() const {
  std::string text = path.empty() ? "kernelwright" : "kernelwright " + path;
  if (!verbs.empty()) text += needs_verb ? " VERB" : " [VERB]";
  text += " [FLAGS]";
  for (const FlagInfo& argument : arguments) {
    std::string word = argument.names.front() + (argument.many ? "..." : "");
    text += argument.required ? " " + word : fmt::format(" [{}]", word);
  }
  return text;
}

std::vector<FlagInfo> VerbInfo::flags() const {
  std::vector<FlagInfo> all;
  for (const FlagGroup& group : groups) all.insert(all.end(), group.flags.begin(), group.flags.end());
  return all;
}

std::vector<std::string> VerbInfo::verb_names() const {
  std::vector<std::string> names;
  for (const VerbInfo& verb : verbs) names.push_back(verb.name);
  return names;
}

std::string path_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  std::string above = path_of(*app.get_parent());
  return above.empty() ? app.get_name() : above + " " + app.get_name();
}

VerbInfo verb_info(const CLI::App& app) {
  VerbInfo verb;
  verb.path = path_of(app);
  verb.name = app.get_name();
  verb.about = app.get_description();
  verb.needs_verb = app.get_require_subcommand_min() > 0;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    FlagInfo flag = flag_info(*option);
    if (option->get_positional()) {
      verb.arguments.push_back(std::move(flag));
      continue;
    }
    auto group = std::ranges::find(verb.groups, option->get_group(), &FlagGroup::title);
    if (group == verb.groups.end()) group = verb.groups.insert(group, {option->get_group(), {}});
    group->flags.push_back(std::move(flag));
  }
  // --help alone in its group comes last.
  if (auto help = std::ranges::find_if(verb.groups, is_about_the_program); help != verb.groups.end())
    std::rotate(help, help + 1, verb.groups.end());
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; }))
    verb.verbs.push_back(verb_info(*below));
  return verb;
}

}  // namespace kw
