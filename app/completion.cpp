#include "completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string_view>

namespace kw::app {
namespace {

std::string in_a_line(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// In single quotes of a shell; fish reads a backslash before a quote there, the others do not.
std::string quoted(std::string_view text, Shell shell) {
  std::string word = "'";
  for (char c : text) {
    if (c == '\'')
      word += shell == Shell::fish ? "\\'" : "'\\''";
    else if (c == '\\' && shell == Shell::fish)
      word += "\\\\";
    else
      word += c;
  }
  return word + "'";
}

bool takes_value(const FlagInfo& flag) {
  return flag.kind != ValueKind::none;
}

std::vector<std::string> names_of_flags(const VerbInfo& verb) {
  std::vector<std::string> names;
  for (const FlagInfo& flag : verb.flags()) names.insert(names.end(), flag.names.begin(), flag.names.end());
  return names;
}

// ---- bash: two functions with the table, and one that reads the command line.

std::string bash_kind(ValueKind kind, const std::vector<std::string>& words) {
  if (kind == ValueKind::words)
    return fmt::format("kind=words words={}", quoted(in_a_line(words), Shell::bash));
  if (kind == ValueKind::file) return "kind=file";
  return kind == ValueKind::folder ? "kind=folder" : "kind=text";
}

std::string bash_values(const VerbInfo& program) {
  std::string text;
  for_each_verb(program, [&](const VerbInfo& verb) {
    for (const FlagInfo& flag : verb.flags()) {
      if (!takes_value(flag)) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : flag.names)
        patterns.push_back(quoted(verb.path + " " + name, Shell::bash));
      text += fmt::format("    {}) {} ;;\n", fmt::join(patterns, " | "), bash_kind(flag.kind, flag.words));
    }
  });
  return text;
}

// The arguments of a verb as one: a file where any is a file, the words of all otherwise.
FlagInfo all_arguments(const VerbInfo& verb) {
  FlagInfo all;
  for (const FlagInfo& argument : verb.arguments) {
    all.words.insert(all.words.end(), argument.words.begin(), argument.words.end());
    if (all.kind == ValueKind::none || argument.kind == ValueKind::file) all.kind = argument.kind;
  }
  return all;
}

std::string bash_verbs(const VerbInfo& program) {
  std::string text;
  for_each_verb(program, [&](const VerbInfo& verb) {
    FlagInfo argument = all_arguments(verb);
    text +=
        fmt::format("    {}) verbs={} flags={} {} ;;\n", quoted(verb.path, Shell::bash),
                    quoted(in_a_line(verb.verb_names()), Shell::bash),
                    quoted(in_a_line(names_of_flags(verb)), Shell::bash),
                    argument.kind == ValueKind::none ? "kind=" : bash_kind(argument.kind, argument.words));
  });
  return text;
}

constexpr std::string_view bash_reader = R"(
_kernelwright() {
  local verb= kind= words= verbs= flags= each i=1 flag
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  while ((i < COMP_CWORD)); do
    each=${COMP_WORDS[i]}
    ((++i))
    if _kernelwright_value "$verb" "$each"; then
      [[ ${COMP_WORDS[i]} == = ]] && ((++i))  # bash splits --flag=value at the sign
      ((++i))
      continue
    fi
    _kernelwright_verb "$verb"
    [[ " $verbs " == *" $each "* ]] && verb=${verb:+$verb }$each
  done
  flag=$before
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ! _kernelwright_value "$verb" "$flag"; then
    _kernelwright_verb "$verb"
    if [[ $word == -* ]]; then
      kind=words words=$flags
    elif [[ -n $verbs ]]; then
      kind=words words=$verbs
    elif [[ -z $kind ]]; then
      kind=words words=$flags
    fi
  fi
  case $kind in
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word") ;;
    file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    folder) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
  esac
}

complete -F _kernelwright kernelwright kw
)";

std::string bash_script(const VerbInfo& program) {
  return fmt::format(
      "# bash completion of kernelwright: source <(kernelwright completion bash)\n"
      "# Made from the parser's table of verbs and flags.\n\n"
      "# Sets kind and words for the value of the flag $2 of the verb $1; fails if the flag has no value.\n"
      "_kernelwright_value() {{\n  kind= words=\n  case \"$1 $2\" in\n{}    *) return 1 ;;\n  esac\n}}\n\n"
      "# Sets verbs and flags of the verb $1, and kind and words of its arguments.\n"
      "_kernelwright_verb() {{\n  verbs= flags= kind= words=\n  case \"$1\" in\n{}  esac\n}}\n{}",
      bash_values(program), bash_verbs(program), bash_reader);
}

// ---- zsh: a function with _arguments for each verb.

std::string zsh_action(const FlagInfo& flag) {
  if (flag.kind == ValueKind::words) return fmt::format("({})", in_a_line(flag.words));
  if (flag.kind == ValueKind::file) return "_files";
  return flag.kind == ValueKind::folder ? "_files -/" : " ";
}

// In a specification of _arguments a colon separates parts, and brackets enclose the help.
std::string zsh_text(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string zsh_flag(const FlagInfo& flag) {
  std::string all;
  for (const std::string& name : flag.names) {
    std::string form = name;
    if (takes_value(flag)) form += name.starts_with("--") ? "=" : "+";
    std::string exclusive = flag.many ? "*" : fmt::format("({})", in_a_line(flag.names));
    std::string spec = fmt::format("{}{}[{}]", exclusive, form, zsh_text(flag.help));
    if (takes_value(flag))
      spec +=
          fmt::format("{}{}:{}", flag.value_is_optional ? "::" : ":", zsh_text(flag.value), zsh_action(flag));
    all += fmt::format("    {} \\\n", quoted(spec, Shell::zsh));
  }
  return all;
}

std::string zsh_name(const VerbInfo& verb) {
  std::string name = verb.path.empty() ? "_kernelwright" : "_kernelwright_" + verb.path;
  for (char& c : name)
    if (c == ' ') c = '_';
  return name;
}

std::string zsh_below(const VerbInfo& verb) {
  std::string text = "    '1: :->verb' \\\n    '*:: :->rest'\n  case $state in\n    verb)\n      verbs=(\n";
  for (const VerbInfo& below : verb.verbs)
    text += fmt::format("        {}\n", quoted(below.name + ":" + zsh_text(below.about), Shell::zsh));
  text += "      )\n      _describe verb verbs ;;\n    rest)\n      case $line[1] in\n";
  for (const VerbInfo& below : verb.verbs)
    text += fmt::format("        {}) {} ;;\n", below.name, zsh_name(below));
  return text + "      esac ;;\n  esac\n";
}

std::string zsh_function(const VerbInfo& verb) {
  std::string text = fmt::format(
      "{}() {{\n  local curcontext=\"$curcontext\" state line\n  local -A opt_args\n  local -a verbs\n"
      "  _arguments -C \\\n",
      zsh_name(verb));
  for (const FlagInfo& flag : verb.flags()) text += zsh_flag(flag);
  if (!verb.verbs.empty()) return text + zsh_below(verb) + "}\n\n";
  for (const FlagInfo& argument : verb.arguments)
    text += fmt::format("    {} \\\n", quoted(fmt::format("{}{}:{}", argument.many ? "*:" : ":",
                                                          argument.names.front(), zsh_action(argument)),
                                              Shell::zsh));
  return text + "    && return\n}\n\n";
}

std::string zsh_script(const VerbInfo& program) {
  std::string text =
      "#compdef kernelwright kw\n# zsh completion of kernelwright, made from the parser's table of verbs and "
      "flags:\n# kernelwright completion zsh > _kernelwright, in a folder of $fpath.\n\n";
  for_each_verb(program, [&](const VerbInfo& verb) { text += zsh_function(verb); });
  return text +
         "if [[ $funcstack[1] == _kernelwright ]]; then\n  _kernelwright \"$@\"\nelse\n"
         "  compdef _kernelwright kernelwright kw\nfi\n";
}

// ---- fish: a line for each flag, with the verb at which it is offered as a condition.

std::string fish_value(const FlagInfo& flag) {
  if (flag.kind == ValueKind::words) return " -x -a " + quoted(in_a_line(flag.words), Shell::fish);
  if (flag.kind == ValueKind::file) return " -r -F";
  if (flag.kind == ValueKind::folder) return " -x -a '(__fish_complete_directories)'";
  return takes_value(flag) ? " -x" : "";
}

std::string fish_lines(const VerbInfo& verb) {
  std::string at = quoted(fmt::format("__kernelwright_at \"{}\"", verb.path), Shell::fish);
  std::string text;
  for (const VerbInfo& below : verb.verbs)
    text += fmt::format("complete -c kernelwright -n {} -a {} -d {}\n", at, below.name,
                        quoted(below.about, Shell::fish));
  for (const FlagInfo& argument : verb.arguments) {
    std::string value = fish_value(argument);
    if (argument.kind == ValueKind::words) value = " -a " + quoted(in_a_line(argument.words), Shell::fish);
    if (argument.kind == ValueKind::file) value = " -F";
    if (argument.kind != ValueKind::text)
      text += fmt::format("complete -c kernelwright -n {}{}\n", at, value);
  }
  for (const FlagInfo& flag : verb.flags()) {
    std::string names;
    for (const std::string& name : flag.names)
      names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    text += fmt::format("complete -c kernelwright -n {}{}{} -d {}\n", at, names, fish_value(flag),
                        quoted(flag.help, Shell::fish));
  }
  return text;
}

constexpr std::string_view fish_reader = R"(
function __kernelwright_at
    set -l at ''
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if contains -- (string trim "$at $word") $__kernelwright_verbs
            set at (string trim "$at $word")
        end
    end
    test "$at" = "$argv[1]"
end

complete -c kernelwright -f
)";

std::string fish_script(const VerbInfo& program) {
  std::vector<std::string> paths;
  std::string lines;
  for_each_verb(program, [&](const VerbInfo& verb) {
    if (!verb.path.empty()) paths.push_back(quoted(verb.path, Shell::fish));
    lines += fish_lines(verb);
  });
  return fmt::format(
      "# fish completion of kernelwright: kernelwright completion fish | source\n"
      "# Made from the parser's table of verbs and flags.\n\nset -g __kernelwright_verbs {}\n{}{}"
      "complete -c kw -w kernelwright\n",
      in_a_line(paths), fish_reader, lines);
}

}  // namespace

std::string completion_script(Shell shell, const VerbInfo& program) {
  switch (shell) {
    case Shell::zsh:
      return zsh_script(program);
    case Shell::fish:
      return fish_script(program);
    case Shell::bash:
      break;
  }
  return bash_script(program);
}

}  // namespace kw::app
