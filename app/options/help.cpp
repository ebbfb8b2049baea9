#include "options/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/core/words.h"
#include "options/config.h"
#include "options/verb_table.h"

namespace kw {
namespace {

constexpr std::size_t line_columns = 100;
constexpr std::size_t help_column = 30;

// Lines of at most `columns` columns, broken at blanks.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  while (text.size() - at > columns) {
    std::size_t end = text.rfind(' ', at + columns);
    if (end == std::string::npos || end <= at) end = std::min(text.find(' ', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = std::min(end + 1, text.size());
  }
  lines.push_back(text.substr(at));
  return lines;
}

// "  NAME     help": a long name has a line of its own.
std::string entry(const std::string& name, const std::string& help) {
  std::string text = "  " + name;
  bool is_long = text.size() + 2 > help_column;
  if (is_long) text += '\n';
  std::string indent(is_long ? help_column : help_column - text.size(), ' ');
  for (const std::string& line : wrapped(help, line_columns - help_column)) {
    text += indent + line + '\n';
    indent.assign(help_column, ' ');
  }
  return text;
}

std::string shown(const FlagInfo& flag) {
  std::vector<std::string> names = flag.names;
  std::ranges::reverse(names);  // the letter first
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (!flag.value.empty())
    text += flag.value_is_optional ? fmt::format(" [{}]", flag.value) : " " + flag.value;
  if (flag.many) text += "...";
  return text;
}

std::string footer(const VerbInfo& verb) {
  if (verb.path.empty())
    return "\n`kernelwright help VERB` describes a verb, and docs/README.md lists the pages.\n";
  if (!verb.verbs.empty())
    return fmt::format("\n`kernelwright help {} VERB` describes a verb of `{}`.\n", verb.path, verb.path);
  return {};
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/,
                                     CLI::AppFormatMode /*mode*/) const {
  VerbInfo verb = verb_info(*app);
  std::string text;
  for (const std::string& line : wrapped(verb.about, line_columns)) text += line + '\n';
  text += fmt::format("\nUsage: {}\n", verb.usage());
  if (!verb.arguments.empty()) text += "\nArguments:\n";
  for (const FlagInfo& argument : verb.arguments) text += entry(shown(argument), argument.full_help());
  if (!verb.verbs.empty()) text += "\nVerbs:\n";
  for (const VerbInfo& below : verb.verbs) text += entry(below.name, below.about);
  for (const FlagGroup& group : verb.groups) {
    text += fmt::format("\n{}:\n", group.title);
    for (const FlagInfo& flag : group.flags) text += entry(shown(flag), flag.full_help());
  }
  return text + footer(verb);
}

namespace {

std::string command_of(const CLI::App& app) {
  std::string path = path_of(app);
  return path.empty() ? "kernelwright" : "kernelwright " + path;
}

std::string list_of_flags(const CLI::App& app) {
  return fmt::format("`{} --help` lists its {}", command_of(app),
                     app.get_require_subcommand_min() > 0 ? "verbs" : "flags");
}

bool has_flag(const VerbInfo& verb, const std::string& name) {
  return std::ranges::any_of(verb.flags(), [&](const FlagInfo& flag) {
    return std::ranges::find(flag.names, name) != flag.names.end();
  });
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& words) {
  std::string near = nearest(word, words);
  return near.empty() ? "" : fmt::format("did you mean {}?", near);
}

Error unknown_flag(const CLI::App& program, const CLI::App& verb, std::string name) {
  name = name.substr(0, name.find('='));
  std::vector<std::string> names;
  for (const FlagInfo& flag : verb_info(verb).flags())
    for (const std::string& each : flag.names)
      if (each.starts_with("--")) names.push_back(each);
  Error error{fmt::format("`{}` has no flag {}", command_of(verb), name), did_you_mean(name, names)};
  if (!error.remedy.empty()) return error;
  std::vector<std::string> others;
  for_each_verb(verb_info(program), [&](const VerbInfo& other) {
    if (!other.path.empty() && has_flag(other, name)) others.push_back(other.path);
  });
  if (others.empty())
    error.remedy = list_of_flags(verb);
  else if (verb.get_parent() == nullptr)
    error.remedy = fmt::format("write it after the verb: kernelwright {} {}", others.front(), name);
  else
    error.remedy = fmt::format("it is a flag of `{}`; {}", fmt::join(others, "`, `"), list_of_flags(verb));
  return error;
}

Error unknown_verb(const CLI::App& app, const std::string& word) {
  std::string remedy = did_you_mean(word, verb_info(app).verb_names());
  return {fmt::format("`{}` has no verb {}", command_of(app), word),
          remedy.empty() ? fmt::format("`{} --help` lists them", command_of(app)) : remedy};
}

// An ExtrasError's own name is that of the verb, so names do not tell the kinds apart.
template <typename Kind>
bool is(const CLI::ParseError& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

// The option that an error of the parser names: "--output: 1 required F missing", "Could not convert: --json
// = x".
CLI::Option* blamed(CLI::App& verb, const CLI::ParseError& error) {
  std::string text = error.what();
  constexpr std::string_view conversion = "Could not convert: ";
  std::string name = text.starts_with(conversion)
                         ? text.substr(conversion.size(), text.find(" = ") - conversion.size())
                         : text.substr(0, text.find(": "));
  for (CLI::Option* option : verb.get_options())
    if (option->get_name() == name || option->get_name(false, true) == name || option->check_name(name))
      return option;
  return nullptr;
}

std::string count_fault(CLI::App& verb, const CLI::ParseError& error) {
  CLI::Option* option = blamed(verb, error);
  if (option == nullptr) return error.what();
  FlagInfo flag = flag_info(*option);
  if (is_flag(*option)) return fmt::format("{} takes no value", flag.names.front());
  if (auto most = static_cast<std::size_t>(option->get_items_expected_max()); option->count() > most)
    return most == 1
               ? fmt::format("{} takes one value, and {} were given", flag.names.front(), option->count())
               : fmt::format("{} takes at most {} values, and {} were given", flag.names.front(), most,
                             option->count());
  return fmt::format("{} lacks its value {}", flag.names.front(), flag.value);
}

std::string in_words(CLI::App& verb, const CLI::ParseError& error) {
  if (is<CLI::RequiredError>(error)) {
    std::string text = error.what();
    if (text == "A subcommand is required") return "a verb is missing";
    if (auto at = text.find(" is required"); at != std::string::npos)
      return text.substr(0, at) + " is missing";
  }
  if (is<CLI::ArgumentMismatch>(error) || is<CLI::ConversionError>(error)) return count_fault(verb, error);
  return error.what();
}

}  // namespace

Error usage_error(CLI::App& app, const CLI::ParseError& error) {
  if (is<CLI::ConfigError>(error)) return {error.what(), ""};
  // A flag that no verb has comes first: its value looks like an argument too many.
  for (CLI::App* verb = &app;; verb = verb->get_subcommands().front()) {
    std::vector<std::string> unknown = verb->remaining();
    std::erase(unknown, "--");
    auto flag = std::ranges::find_if(unknown, [](const std::string& word) { return word.starts_with('-'); });
    if (flag != unknown.end()) return unknown_flag(app, *verb, *flag);
    if (!verb->get_subcommands().empty()) continue;
    if (!unknown.empty() && !verb_info(*verb).verbs.empty()) return unknown_verb(*verb, unknown.front());
    if (!unknown.empty() && is<CLI::ExtrasError>(error))
      return {fmt::format("`{}` takes no argument {}", command_of(*verb), unknown.front()),
              list_of_flags(*verb)};
    return {in_words(*verb, error), list_of_flags(*verb)};
  }
}

Result<const CLI::App*> find_verb(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* verb = &app;
  for (const std::string& word : words) {
    auto below = verb->get_subcommands([&](const CLI::App* each) { return each->get_name() == word; });
    if (below.empty()) {
      Error error = unknown_verb(*verb, word);
      return std::unexpected(error);
    }
    verb = below.front();
  }
  return verb;
}

}  // namespace kw
