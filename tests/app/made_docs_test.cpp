// The parts of docs/ and python/ that the table of options generates. KW_UPDATE_DOCS=1 writes them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "types/options.h"

namespace kw {
namespace {

namespace json = boost::json;

std::string as_code(std::string_view text) {
  return fmt::format("`{}`", text);
}

// `a`, `b` and `c`
std::string in_words(std::vector<std::string> words) {
  std::string last = words.back();
  words.pop_back();
  return fmt::format("{} and {}", fmt::join(words, ", "), last);
}

std::vector<std::string> flags_of(auto&& is_wanted) {
  std::vector<std::string> flags;
  for (const Option* option : all_options())
    if (is_wanted(*option)) flags.push_back(as_code(option->about.flag));
  return flags;
}

std::string job_fields() {
  std::vector<std::string> names;
  for (const Option* option : job_option_table()) names.push_back(as_code(option->name()));
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_true_or_false(const Option& option) {
  return option.is_job_option() && option.python_type() == "bool";
}

std::string protocol_cell(const Option& option) {
  const InProtocol& in = option.about.protocol;
  if (in.cpu && in.cuda) return "yes";
  if (in.cuda) return "on a GPU";
  return in.cpu ? "without a GPU" : fmt::format("no: {}", in.why_not);
}

std::string field_cell(const Option& option) {
  if (!option.is_job_option()) return "";
  if (option.python_type().starts_with("list")) return fmt::format("{}, a list", as_code(option.name()));
  if (!is_true_or_false(option)) return as_code(option.name());
  return fmt::format("{}, true for {}", as_code(option.name()), as_code(option.words().front()));
}

std::string table() {
  std::string text =
      "\n| flag | values | default | what it is | field of a job | in the protocol "
      "|\n|---|---|---|---|---|---|\n";
  for (const Option* option : all_options())
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", as_code(option->about.flag), option->values(),
                    option->default_text(), option->about.help, field_cell(*option), protocol_cell(*option));
  return text;
}

// JSON with a space after each comma and colon.
std::string spaced(const json::value& value) {
  std::vector<std::string> parts;
  if (const auto* array = value.if_array()) {
    for (const json::value& item : *array) parts.push_back(spaced(item));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  if (const auto* object = value.if_object()) {
    for (const auto& [name, item] : *object)
      parts.push_back(fmt::format("{}: {}", json::serialize(name), spaced(item)));
    return fmt::format("{{ {} }}", fmt::join(parts, ", "));
  }
  return json::serialize(value);
}

std::string openapi_properties() {
  std::vector<std::string> lines;
  for (const Option* option : job_option_table()) {
    json::object schema = option->json_schema();
    std::string about(option->about.help);
    about.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(about.front())));
    if (is_true_or_false(*option))
      about += fmt::format(" (true: {}, false: {})", option->words().front(), option->words().back());
    schema["description"] = about + ".";
    lines.push_back(fmt::format("          \"{}\": {}", option->name(), spaced(schema)));
  }
  return fmt::format("\n{}\n        ", fmt::join(lines, ",\n"));
}

std::string python_fields() {
  std::string text = "\n";
  for (const Option* option : job_option_table())
    text += fmt::format("    {}: {}\n", option->name(), option->python_type());
  return text + "    ";
}

struct Part {
  const char* file;
  const char* begin;
  const char* end;
  std::string text;
};

std::vector<Part> parts() {
  constexpr const char* end = "<!-- end -->";
  return {
      {"docs/configuration.md", "<!-- made: options -->", end, table()},
      {"docs/agents.md", "<!-- made: fields -->", end, job_fields()},
      {"docs/service.md", "<!-- made: fields -->", end, job_fields()},
      {"docs/python-api.md", "<!-- made: fields -->", end, job_fields()},
      {"docs/remote.md", "<!-- made: travels -->", end,
       in_words(flags_of([](const Option& option) { return option.is_job_option(); }))},
      {"docs/remote.md", "<!-- made: stays -->", end, in_words(flags_of([](const Option& option) {
         return option.about.decided == Decided::where_it_runs;
       }))},
      {"docs/openapi.json",
       "\"description\": \"Overrides of the service's settings.\",\n        "
       "\"properties\": {",
       "},\n        \"additionalProperties\"", openapi_properties()},
      {"python/kernelwright/client_types.py", "# made: options", "# end", python_fields()},
  };
}

class MadeDocs : public testing::TestWithParam<Part> {};

TEST_P(MadeDocs, AreWhatTheTableSays) {
  const Part& part = GetParam();
  const std::string path = fmt::format("{}/{}", KW_SOURCE_DIR, part.file);
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::size_t begin = text.find(part.begin);
  ASSERT_NE(begin, std::string::npos) << part.file << " lacks " << part.begin;
  begin += std::string_view(part.begin).size();
  std::size_t end = text.find(part.end, begin);
  ASSERT_NE(end, std::string::npos) << part.file << " lacks " << part.end;
  if (std::getenv("KW_UPDATE_DOCS") != nullptr) {
    text.replace(begin, end - begin, part.text);
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(text.substr(begin, end - begin), part.text)
      << part.file << " is stale: KW_UPDATE_DOCS=1 build/tests/options_test writes it";
}

INSTANTIATE_TEST_SUITE_P(Options, MadeDocs, testing::ValuesIn(parts()));

}  // namespace
}  // namespace kw
