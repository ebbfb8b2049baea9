#include "man.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace kw::app {
namespace {

// Text in roff: no line may begin as a request, and a minus must stay one.
std::string escaped(const std::string& text) {
  std::string roff;
  for (char c : text) {
    if (c == '\\')
      roff += "\\e";
    else if (c == '-')
      roff += "\\-";
    else if (c == '\'')
      roff += "\\(aq";
    else
      roff += c;
  }
  return roff.starts_with('.') ? "\\&" + roff : roff;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string heading(const FlagInfo& flag) {
  std::string names = fmt::format("\\fB{}\\fR", escaped(fmt::format("{}", fmt::join(flag.names, ", "))));
  if (!flag.value.empty())
    names += flag.value_is_optional ? fmt::format(" [\\fI{}\\fR]", escaped(flag.value))
                                    : fmt::format(" \\fI{}\\fR", escaped(flag.value));
  return names + (flag.many ? "..." : "");
}

std::string entry(const FlagInfo& flag) {
  return fmt::format(".TP\n{}\n{}\n", heading(flag), escaped(flag.full_help()));
}

// Flags with the same meaning in every verb.
bool is_common(const FlagInfo& flag) {
  return flag.names.front() == "--help" || flag.names.front() == "--config";
}

std::string verb_section(const VerbInfo& verb) {
  std::string text = fmt::format(".SH \"{}\"\n{}.\n.PP\n\\fB{}\\fR\n", upper("kernelwright " + verb.path),
                                 escaped(verb.about), escaped(verb.usage()));
  for (const FlagInfo& argument : verb.arguments) text += entry(argument);
  for (const VerbInfo& below : verb.verbs)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(below.name), escaped(below.about));
  for (const FlagGroup& group : verb.groups) {
    std::string flags;
    for (const FlagInfo& flag : group.flags)
      if (!is_common(flag)) flags += entry(flag);
    if (!flags.empty()) text += fmt::format(".SS {}\n{}", escaped(group.title), flags);
  }
  return text;
}

std::string environment(const VerbInfo& program) {
  std::map<std::string, std::string> variables{
      {"OPENAI_API_KEY", "key of the model server"},
      {"KERNELWRIGHT_API_KEY", "key that clients of serve and mcp must send"},
      {"KERNELWRIGHT_EVALUATOR_KEY", "key that a client sends to a service"},
      {"NO_COLOR", "if it is set, nothing is coloured"}};
  for_each_verb(program, [&](const VerbInfo& verb) {
    for (const FlagInfo& flag : verb.flags())
      if (!flag.environment.empty())
        variables.try_emplace(flag.environment,
                              fmt::format("sets {} where the flag is not given", flag.names.front()));
  });
  std::string text = ".SH ENVIRONMENT\n";
  for (const auto& [name, meaning] : variables)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(name), escaped(meaning));
  return text;
}

}  // namespace

std::string man_page(const VerbInfo& program, const std::string& version) {
  std::string text = fmt::format(".TH KERNELWRIGHT 1 \"\" \"kernelwright {}\" \"User Commands\"\n", version);
  text += ".SH NAME\nkernelwright \\- judge Triton kernels against PyTorch references\n";
  text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR\n", escaped(program.usage()));
  text += fmt::format(".SH DESCRIPTION\n{}\n", escaped(program.about));
  for (const VerbInfo& verb : program.verbs)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(verb.name), escaped(verb.about));
  text += ".SH \"COMMON FLAGS\"\n";
  for (const FlagInfo& flag : program.flags()) text += entry(flag);
  text +=
      ".TP\n\\fB\\-\\-config\\fR \\fIF.toml\\fR\nread options from a TOML file; flags and environment "
      "override "
      "it (all verbs that have options with a value)\n";
  for_each_verb(program, [&](const VerbInfo& verb) {
    if (!verb.path.empty()) text += verb_section(verb);
  });
  text +=
      ".SH \"EXIT STATUS\"\n.TP\n0\nsuccess; verify returns it for wrong kernels too\n.TP\n1\nfailure\n"
      ".TP\n2\nwrong usage\n.TP\n130\ninterrupted\n";
  return text + environment(program) +
         ".SH EXAMPLES\n.nf\nkernelwright new relu\nkernelwright verify relu_reference.py relu_kernel.py\n"
         "kernelwright run \\-\\-vllm\\-url http://localhost:8000/v1 \\-\\-multi\\-turn \\-o "
         "traces.json\n.fi\n";
}

}  // namespace kw::app
