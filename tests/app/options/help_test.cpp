#include "options/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "options/parse.h"
#include "options/verb_table.h"

namespace kw {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A program with a verb that has a verb.
struct Painting {
  CLI::App app{"Does things.", "kernelwright"};
  CLI::App* verb = app.add_subcommand("paint", "Paint a wall");
  CLI::App* below = verb->add_subcommand("twice", "Paint it again");
  std::vector<std::string> walls;
  std::string file;
  std::string word;
  bool coarse = false;
  bool primer = true;

  Painting() {
    app.formatter(std::make_shared<HelpFormatter>());
    app.require_subcommand(1);
    verb->add_option("WALL", walls, "walls to paint")->expected(0, 2);
    CLI::Option* output = verb->add_option("--output,-o", file, "file of a photograph")->type_name("F");
    with_words(verb->add_option("--colour", word, "colour of the paint")->envname("COLOUR"), {"red", "blue"})
        ->type_name("WORD");
    verb->add_flag("!--no-primer", primer, "leave the primer out");
    verb->add_flag("--coarse", coarse, std::string(30, 'x') + std::string(20, ' ') + std::string(60, 'y'))
        ->needs(output);
  }

  std::string help_of(const CLI::App& verb) {
    return HelpFormatter().make_help(&verb, "", CLI::AppFormatMode::Normal);
  }

  // The error about these words, or an empty one.
  Error error_of(std::vector<std::string> words) {
    std::ranges::reverse(words);  // CLI11 takes a vector in reverse
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {
      return usage_error(app, error);
    }
    return {};
  }
};

TEST(Help, ShowsNamesValuesAndConditions) {
  Painting program;
  EXPECT_THAT(program.help_of(*program.verb),
              AllOf(HasSubstr("Usage: kernelwright paint [VERB] [FLAGS] [WALL...]\n"),
                    HasSubstr("\n  -o, --output F              file of a photograph\n"),
                    HasSubstr("\n  --no-primer                 leave the primer out\n"),
                    HasSubstr("colour of the paint (environment: COLOUR)\n"), HasSubstr("(requires"),
                    Not(HasSubstr("{false}"))));
}

TEST(Help, LinesHaveAHundredColumns) {
  Painting program;
  std::istringstream text(program.help_of(*program.verb));
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(VerbTable, KnowsWhatFollowsAFlag) {
  Painting program;
  VerbInfo verb = verb_info(*program.verb);
  EXPECT_EQ(verb.path, "paint");
  EXPECT_THAT(verb.verb_names(), ElementsAre("twice"));
  EXPECT_EQ(verb.verbs.front().path, "paint twice");
  for (const FlagInfo& flag : verb.flags()) {
    if (flag.names.front() == "--output") EXPECT_EQ(flag.kind, ValueKind::file);
    if (flag.names.front() == "--colour") EXPECT_THAT(flag.words, ElementsAre("red", "blue"));
    if (flag.names.front() == "--no-primer") EXPECT_EQ(flag.kind, ValueKind::none);
  }
}

TEST(UsageError, NamesTheNearestVerb) {
  EXPECT_EQ(Painting().error_of({"pant"}).remedy, "did you mean paint?");
  EXPECT_EQ(Painting().error_of({"pant"}).what, "`kernelwright` has no verb pant");
}
TEST(UsageError, NamesTheNearestFlagBeforeAnArgumentTooMany) {
  EXPECT_EQ(Painting().error_of({"paint", "--color", "red", "a", "b"}).remedy, "did you mean --colour?");
}
TEST(UsageError, AFlagOfAnotherVerbNamesThatVerb) {
  EXPECT_EQ(Painting().error_of({"paint", "twice", "--coarse"}).remedy,
            "it is a flag of `paint`; `kernelwright paint twice --help` lists its flags");
}
TEST(UsageError, CountsValues) {
  EXPECT_EQ(Painting().error_of({"paint", "a", "b", "c"}).what,
            "WALL takes at most 2 values, and 3 were given");
  EXPECT_EQ(Painting().error_of({"paint", "--output"}).what, "--output lacks its value F");
  EXPECT_EQ(Painting().error_of({"paint", "--coarse=maybe"}).what, "--coarse takes no value");
}
TEST(UsageError, AMissingVerb) {
  EXPECT_EQ(Painting().error_of({}).what, "a verb is missing");
}

TEST(FindVerb, FollowsTheWords) {
  Painting program;
  EXPECT_EQ(*find_verb(program.app, {"paint", "twice"}), program.below);
  EXPECT_EQ(find_verb(program.app, {"paint", "thrice"}).error().what,
            "`kernelwright paint` has no verb thrice");
}

}  // namespace
}  // namespace kw
