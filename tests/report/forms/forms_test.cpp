// The forms of a report, with names that try to act in a spreadsheet, a viewer or a terminal.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "report/forms/csv.h"
#include "report/forms/escape.h"
#include "report/forms/figures.h"
#include "report/forms/form_files.h"
#include "report/forms/markdown.h"
#include "report/summary/report_world.h"

namespace kw::report {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(CsvText, NoCellBeginsAFormula) {
  for (const char* text : {"=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1", "\n=1", "＝1", "\tx", "\rx",
                           "\u00a0=1", "\u3000 =1"})
    EXPECT_THAT(csv_text(text), StartsWith("'")) << text;
  for (const char* text : {"plain", "a=b", "1-2", "", " x"}) EXPECT_EQ(csv_text(text), text);
}

TEST(CsvText, NamesCharactersThatAreHidden) {
  EXPECT_EQ(csv_text("a\xe2\x80\xae"
                     "b"),
            "a<U+202E>b");
  EXPECT_THAT(csv_text("\x1b[31m"), Not(HasSubstr("\x1b")));
}

constexpr const char* hostile =
    "=cmd|' /C calc'!A0 <script>alert(1)</script> \x1b[2J\xe2\x80\xae`[a](http://b)";

IndexWorld hostile_world() {
  IndexWorld world;
  world.index.title = hostile;
  world.index.program_version = "0.0.0";
  world.index.sources[0].name = hostile;
  world.index.sources[0].messages = {hostile, "second"};
  world.index.sources[0].facts = {{hostile, hostile}};
  world.add_source(hostile);
  for (std::int64_t source : {0, 1}) {
    std::size_t row = world.add(
        {.task = hostile, .standing = source == 0 ? "right" : "wrong", .speedup = 1.5, .source = source});
    world.index.rows.model.set(row, hostile);
    world.index.rows.error_class.set(row, hostile);
    world.index.rows.gpu.set(row, hostile);
    world.index.rows.roofline_share.set(row, 0.5);
    world.index.rows.kernel_time_ms.set(row, 0.01);
    world.add_turns(
        row, {{.error_class = hostile}, {.standing = "unknown", .error_class = hostile, .fault = hostile}});
  }
  world.index.contents.left_out = {{hostile, 1, hostile}};
  world.index.datasets.push_back(boost::json::object{{"source", hostile}});
  world.index.scores.push_back(boost::json::object{{"verdicts", hostile}});
  return world;
}

void expect_harmless(const std::string& text) {
  EXPECT_TRUE(is_utf8(text));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b[2J")), Not(HasSubstr("\xe2\x80\xae"))));
}

// Without the lines in fences, which viewers show as they are. A fence of three lines is a claim.
std::string outside_fences(std::string_view text) {
  std::string outside;
  bool is_inside = false;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with("```"))
      is_inside = !is_inside;
    else if (!is_inside)
      outside += std::string(line) + "\n";
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  EXPECT_FALSE(is_inside);
  return outside;
}

TEST(Markdown, KeepsHostileNamesAsText) {
  IndexWorld world = hostile_world();
  std::string whole = markdown(world.index, overview_of(world.index));
  expect_harmless(whole);
  std::string text = outside_fences(whole);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("http://")), HasSubstr("&lt;script>")));
  EXPECT_THAT(text,
              AllOf(HasSubstr("## Overview"), HasSubstr("### Settings that differ"), HasSubstr("## Rows")));
}

TEST(Markdown, EveryTableRowHasAsManyCellsAsItsHead) {
  IndexWorld world = hostile_world();
  std::string text = markdown(world.index, overview_of(world.index));
  std::size_t cells = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    if (!line.starts_with('|'))
      cells = 0;
    else if (cells == 0)
      cells = bars;
    else
      EXPECT_EQ(bars, cells) << line;
    begin = end + 1;
  }
}

TEST(Markdown, WithoutSpeedsHasNoBoundsButThoseOfKnownOnes) {
  IndexWorld world;
  world.add({.task = "a"});
  EXPECT_THAT(markdown(world.index, overview_of(world.index)), Not(HasSubstr("\n| 0.5 |")));
  world.add({.task = "b", .speedup = 0.1});
  EXPECT_THAT(markdown(world.index, overview_of(world.index)), HasSubstr("\n| 0.5 |"));
  IndexWorld wrong;
  wrong.add({.standing = "wrong"});
  EXPECT_THAT(markdown(wrong.index, overview_of(wrong.index)),
              AllOf(Not(HasSubstr("\n| 10 |")), HasSubstr("Speed was not measured: no answer is right.")));
}

TEST(Forms, HaveTheFurtherChecksThatWereAskedFor) {
  IndexWorld world;
  world.add({.task = "a"});
  EXPECT_THAT(markdown(world.index, overview_of(world.index)), Not(HasSubstr("other shapes")));
  EXPECT_THAT(terminal_summary(world.index, overview_of(world.index), {}), Not(HasSubstr("other shapes")));
  const std::size_t row = world.add({.task = "b"});
  world.index.rows.other_shapes.set(row, "given_only");
  world.index.rows.sanitized.set(row, "bounds not run");
  const std::string text = markdown(world.index, overview_of(world.index));
  EXPECT_THAT(text, AllOf(HasSubstr("| other shapes | sanitizers |\n"),
                          HasSubstr("| given\\_only | bounds not run |\n"), HasSubstr("|  |  |\n")));
  EXPECT_THAT(terminal_summary(world.index, overview_of(world.index), {}),
              AllOf(HasSubstr("other shapes"), HasSubstr("given_only"), HasSubstr("bounds not run")));
}

TEST(Markdown, OfManyRowsNamesTheRest) {
  IndexWorld world;
  for (int i = 0; i < 700; ++i) world.add({.task = "a", .standing = "wrong"});
  EXPECT_THAT(markdown(world.index, overview_of(world.index)), HasSubstr("200 further rows"));
}

TEST(Terminal, HasNoEscapesOfNames) {
  IndexWorld world = hostile_world();
  std::string text = terminal_summary(world.index, overview_of(world.index), {.colours = false, .width = 80});
  expect_harmless(text);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, AllOf(HasSubstr("right"), HasSubstr("1 of 1 sample"), HasSubstr("0 of 1 sample")));
}

TEST(Terminal, SaysThatSpeedWasNotMeasured) {
  IndexWorld world;
  world.add({});
  EXPECT_THAT(terminal_summary(world.index, overview_of(world.index), {}),
              HasSubstr("Speed was not measured: no right answer was timed."));
}

IndexWorld unfinished_world() {
  IndexWorld world;
  world.index.sources[0].state = SourceState::unfinished;
  world.add({.task = "a"});
  world.index.rows.unfinished.set(world.add({.task = "b", .standing = "unknown"}), true);
  return world;
}

TEST(Forms, NameWhatIsUnfinishedApartFromWhatIsWrong) {
  IndexWorld world = unfinished_world();
  Overview overview = overview_of(world.index);
  constexpr const char* words = "1 of 1 sample of the 1 that have ended; 1 sample is unfinished";
  EXPECT_THAT(terminal_summary(world.index, overview, {.colours = false, .width = 120}), HasSubstr(words));
  EXPECT_THAT(markdown(world.index, overview), AllOf(HasSubstr(words), HasSubstr("\nunfinished: fast_0")));
  EXPECT_EQ(parse_json(json_text(world.index, overview))->at("summary").at("unfinished"), 1);
  for (const Figure& figure : figures_of(world.index, overview))
    if (figure.name == "fast_p") EXPECT_THAT(figure.caption, HasSubstr("1 sample is unfinished"));
}

IndexWorld two_runs() {
  IndexWorld world;
  world.index.sources[0].name = "before.run";
  world.add_source("demo.run");
  for (int i = 0; i < 12; ++i) {
    std::string task = "task " + std::to_string(100 + i);
    for (std::int64_t source : {0, 1})
      world.add_turns(
          world.add({.task = task.c_str(), .standing = source == 0 ? "wrong" : "right", .source = source}),
          {{.error_class = source == 0 ? "timeout" : ""}});
  }
  return world;
}

TEST(Forms, GiveTheHeadlineOfEachOfSeveralSources) {
  IndexWorld world = two_runs();
  Overview overview = overview_of(world.index);
  std::string text = terminal_summary(world.index, overview, {.colours = false, .width = 160});
  EXPECT_THAT(text, testing::ContainsRegex("before.run +0 of 12 samples; fast_0 0.000"));
  EXPECT_THAT(text, testing::ContainsRegex("demo.run +12 of 12 samples; fast_0 1.000"));
  EXPECT_THAT(text, AllOf(HasSubstr("(pooled over 2 sources)"), Not(HasSubstr("12 of 24"))));
  EXPECT_THAT(markdown(world.index, overview),
              AllOf(HasSubstr("### before.run\n\nRight and counting: 0 of 12 samples"),
                    HasSubstr("\nsource demo.run: fast_0"),
                    HasSubstr("figures below are pooled over 2 sources"), Not(HasSubstr("12 of 24"))));
}

TEST(Forms, FiguresOfSeveralSourcesAreApartOrSayThatTheyArePooled) {
  IndexWorld world = two_runs();
  for (const Figure& figure : figures_of(world.index, overview_of(world.index))) {
    if (figure.name == "fast_p" || figure.name == "right_by_turn") {
      EXPECT_EQ(figure.description.at("series").as_array().size(), 2U);
      EXPECT_THAT(figure.caption,
                  AllOf(HasSubstr("source before.run: fast_0"), HasSubstr("2 sources apart")));
    }
    if (figure.name == "errors_by_turn") EXPECT_THAT(figure.caption, HasSubstr("pooled over 2 sources"));
  }
}

TEST(Markdown, WritesASmallPAsABound) {
  IndexWorld world = two_runs();
  EXPECT_THAT(markdown(world.index, overview_of(world.index)), HasSubstr("| 12 | 0 | < 0.001 |"));
}

TEST(Markdown, SaysThatTurnsWereNotJudged) {
  IndexWorld world = hostile_world();
  EXPECT_THAT(markdown(world.index, overview_of(world.index)), HasSubstr("\n### Turns not judged\n"));
}

std::string csv_of(const Index& index) {
  std::string text;
  EXPECT_TRUE(write_csv(index, [&](std::string_view part) -> Result<> {
    text += part;
    return {};
  }));
  return text;
}

TEST(Csv, HasALineForEachRowAndNoFormula) {
  IndexWorld world = hostile_world();
  std::string text = csv_of(world.index);
  expect_harmless(text);
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_THAT(text,
              AllOf(StartsWith("source,kind,key,task_id,"), Not(HasSubstr(",\"=cmd")), HasSubstr("'=cmd")));
  EXPECT_THAT(text, Not(HasSubstr("chunk")));
}

TEST(Csv, AWriterThatFailsEndsIt) {
  IndexWorld world = hostile_world();
  EXPECT_FALSE(write_csv(world.index, [](std::string_view) -> Result<> { return fail("no space"); }));
}

TEST(JsonForm, IsTheIndexWithItsSummary) {
  IndexWorld world = hostile_world();
  auto value = parse_json(json_text(world.index, overview_of(world.index)));
  ASSERT_TRUE(value);
  const boost::json::object& object = value->as_object();
  EXPECT_EQ(object.at("schema"), report_schema);
  EXPECT_EQ(object.at("summary").as_object().at("right"), 1);
  EXPECT_EQ(object.at("summary").as_object().at("comparisons").as_array().size(), 1U);
  EXPECT_TRUE(object.at("chunks").as_array().empty());
}

class FormFile : public testing::TestWithParam<Form> {};

TEST_P(FormFile, IsRecognisedAfterItIsWritten) {
  IndexWorld world = hostile_world();
  std::string name = (std::filesystem::temp_directory_path() / "form-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  std::filesystem::path file = std::filesystem::path(name) / ("report." + std::string(to_string(GetParam())));
  EXPECT_EQ(form_of(file), GetParam());
  EXPECT_FALSE(is_report(GetParam(), file));
  ASSERT_TRUE(write_report(GetParam(), world.index, overview_of(world.index), file));
  EXPECT_TRUE(is_report(GetParam(), file));
  std::ofstream(file) << "source,kind";
  EXPECT_FALSE(is_report(GetParam(), file));
  EXPECT_FALSE(write_report(GetParam(), world.index, overview_of(world.index), file / "below.a.file"));
  std::filesystem::remove_all(name);
}

INSTANTIATE_TEST_SUITE_P(Each, FormFile, testing::Values(Form::md, Form::json, Form::csv),
                         [](const auto& each) { return std::string(to_string(each.param)); });

TEST(FormOf, AnotherExtensionIsNone) {
  for (const char* name : {"report.html", "report", "md", "x.MD", ".csv"})
    EXPECT_FALSE(form_of(name)) << name;
}

class FiguresFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "figures-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::ofstream(folder_ / "drawer.py") << "import sys,json,pathlib\n"
                                            "for f in json.load(open(sys.argv[1]))['figures']:\n"
                                            "  for e in ('.svg','.png'):\n"
                                            "    (pathlib.Path(sys.argv[2])/(f['name']+e)).write_text('x')\n"
                                            "print(json.dumps({'figures':[]}))\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<WrittenFigures> write(const Index& index) {
    return write_figures(figures_of(index, overview_of(index)), folder_ / "figs",
                         {KW_TEST_PYTHON, folder_ / "drawer.py"});
  }
  bool has(const char* name) const { return std::filesystem::exists(folder_ / "figs" / name); }

  std::filesystem::path folder_;
};

TEST_F(FiguresFolder, HasDataAndACaptionBesideEachFigure) {
  IndexWorld world = hostile_world();
  auto written = write(world.index);
  ASSERT_TRUE(written) << written.error().what;
  EXPECT_THAT(written->drawn,
              testing::ElementsAre("fast_p", "speedups", "right_by_turn", "errors_by_turn", "roofline"));
  for (const char* file : {"fast_p.svg", "fast_p.png", "fast_p.csv", "fast_p.txt", "roofline.csv"})
    EXPECT_TRUE(has(file)) << file;
  for (const std::string& name : written->drawn) {
    expect_harmless(*read_file(folder_ / "figs" / (name + ".csv")));
    expect_harmless(*read_file(folder_ / "figs" / (name + ".txt")));
  }
}

TEST_F(FiguresFolder, SaysWhatWasNotMeasuredAndDrawsNothingOfIt) {
  IndexWorld world;
  world.add({});
  auto written = write(world.index);
  ASSERT_TRUE(written);
  EXPECT_THAT(written->not_drawn, testing::Contains("speedups"));
  EXPECT_FALSE(has("speedups.svg"));
  EXPECT_THAT(*read_file(folder_ / "figs/speedups.txt"),
              HasSubstr("Not drawn: no right sample has a known speed."));
  EXPECT_THAT(*read_file(folder_ / "figs/fast_p.txt"), HasSubstr("Speed was not measured"));
  for (const Figure& figure : figures_of(world.index, overview_of(world.index)))
    if (figure.name == "fast_p")
      EXPECT_EQ(figure.description.at("series").as_array()[0].as_object().at("points").as_array().size(), 1U);
}

TEST_F(FiguresFolder, FiguresOfAnEarlierReportAreReplaced) {
  IndexWorld measured = hostile_world();
  ASSERT_TRUE(write(measured.index));
  ASSERT_TRUE(has("roofline.svg"));
  IndexWorld other;
  other.add({});
  ASSERT_TRUE(write(other.index));
  EXPECT_FALSE(has("roofline.svg"));
  EXPECT_FALSE(has("speedups.csv"));
  EXPECT_TRUE(has("fast_p.svg"));
}

TEST_F(FiguresFolder, AForeignFileIsNotReplaced) {
  std::filesystem::create_directory(folder_ / "figs");
  std::ofstream(folder_ / "figs/fast_p.svg") << "mine";
  IndexWorld world = hostile_world();
  auto written = write(world.index);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().what, HasSubstr("fast_p.svg"));
  EXPECT_EQ(*read_file(folder_ / "figs/fast_p.svg"), "mine");
  EXPECT_FALSE(has("figures.json"));
}

TEST_F(FiguresFolder, AListThatSomeoneChangedRemovesNothingElse) {
  IndexWorld world = hostile_world();
  ASSERT_TRUE(write(world.index));
  std::ofstream(folder_ / "outside.svg") << "mine";
  std::ofstream(folder_ / "figs/figures.json")
      << R"({"schema": "kernelwright.figures/1", "files": ["../outside.svg", "fast_p.svg", "..", 1, ".x.svg"]})";
  EXPECT_FALSE(write(world.index));  // fast_p.png is not in the list any more
  EXPECT_EQ(*read_file(folder_ / "outside.svg"), "mine");
  std::ofstream(folder_ / "figs/figures.json") << "{";
  EXPECT_THAT(write(world.index).error().what, HasSubstr("not a list of figures"));
}

TEST_F(FiguresFolder, WithoutAPythonTheDataIsWrittenAndTheErrorSaysSo) {
  IndexWorld world = hostile_world();
  auto written = write_figures(figures_of(world.index, overview_of(world.index)), folder_ / "figs",
                               {"/nowhere/python", folder_ / "drawer.py"});
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().what, HasSubstr("the data and captions are in"));
  EXPECT_TRUE(has("fast_p.csv"));
}

}  // namespace
}  // namespace kw::report
