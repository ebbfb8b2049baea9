#include "report/page/page.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <boost/json/parse.hpp>

#include "base/core/crypto.h"
#include "report/model/sources.h"
#include "report/page/assets.h"
#include "report/page/chunks.h"
#include "report/page/shell.h"

namespace kw::report {
namespace {

std::string inflated(const std::string& stored, std::size_t raw_bytes) {
  std::string raw(raw_bytes, '\0');
  uLongf size = raw_bytes;
  EXPECT_EQ(::uncompress(reinterpret_cast<Bytef*>(raw.data()), &size,
                         reinterpret_cast<const Bytef*>(stored.data()), stored.size()),
            Z_OK);
  EXPECT_EQ(size, raw_bytes);
  return raw;
}

// The text between two marks.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  std::size_t from = text.find(begin);
  if (from == std::string::npos) return {};
  from += begin.size();
  return text.substr(from, text.find(end, from) - from);
}

Trace big_trace(const std::string& uuid, std::size_t bytes) {
  Trace trace = store::trace(uuid);
  std::string text = "</script><!-- \xE2\x80\xA8 \xE2\x80\xA9 ";
  for (std::uint32_t i = 1; text.size() < bytes; ++i) text += std::to_string(i * 2654435761U);
  trace.rounds.push_back({{store::turn(1, text, store::judged(Status::failed))}, {}, ""});
  return trace;
}

struct Page : testing::Test, Sources {
  std::string output() const { return folder.path("report.html"); }

  WrittenPage write_all(const std::vector<Trace>& all, std::uint64_t split_bytes = std::uint64_t{64} << 20) {
    Model model({traces(all)}, {.program_version = "0", .made_at = "2026-01-01T00:00:00Z"});
    auto written = write_page(model, {.output = output(), .split_bytes = split_bytes, .summary = {}});
    EXPECT_TRUE(written) << written.error().what;
    return written.value_or(WrittenPage{});
  }

  boost::json::object index() const {
    std::string html = *read_file(output());
    std::size_t bytes = std::stoul(between(html, "data-raw-bytes=\"", "\""));
    std::string element = between(html, "<script type=\"application/vnd.kernelwright.index\"", "</script>");
    return boost::json::parse(inflated(*base64_decoded(element.substr(element.find('>') + 1)), bytes))
        .as_object();
  }

  // The stored bytes of a chunk.
  std::string chunk(const boost::json::object& index, std::size_t number) const {
    const boost::json::object& facts = index.at("chunks").as_array().at(number).as_object();
    std::string stored;
    if (const boost::json::value* at = facts.if_contains("at"))
      stored = read_file(folder.path("report.kwdata"))
                   ->substr(at->to_number<std::size_t>(), facts.at("stored_bytes").to_number<std::size_t>());
    else
      stored =
          *base64_decoded(between(*read_file(output()), "id=\"chunk-" + std::to_string(number) + "\">", "<"));
    std::string raw = inflated(stored, facts.at("raw_bytes").to_number<std::size_t>());
    EXPECT_EQ(sha256_hex(raw), std::string(facts.at("sha256").as_string()));
    return raw;
  }

  // Checks that every row's place has the detail with its key.
  void check_places(const boost::json::object& index) const {
    const boost::json::object& rows = index.at("rows").as_object();
    const boost::json::object& columns = rows.at("columns").as_object();
    for (std::size_t row = 0; row < rows.at("count").to_number<std::size_t>(); ++row) {
      auto at = [&](const char* name) {
        return columns.at(name).as_array().at(row).to_number<std::size_t>();
      };
      std::string line = chunk(index, at("chunk")).substr(at("offset"), at("bytes"));
      EXPECT_EQ(boost::json::parse(line).at("key"), columns.at("key").as_array().at(row));
    }
  }
};

TEST_F(Page, HasEveryDetailAtItsPlace) {
  WrittenPage page = write_all({big_trace("1", 100), big_trace("2", 200'000), big_trace("3", 100'000)});
  EXPECT_TRUE(page.data_file.empty());
  EXPECT_GE(page.chunks, 2U);
  check_places(index());
}

TEST_F(Page, GivesALongDetailAChunkOfItsOwn) {
  write_all({big_trace("1", 100), big_trace("2", 1'000'000), big_trace("3", 100)});
  boost::json::object index = this->index();
  ASSERT_EQ(index["chunks"].as_array().size(), 3U);
  check_places(index);
}

TEST_F(Page, AboveASizeHasItsDetailsInASecondFile) {
  WrittenPage page = write_all({big_trace("1", 1000), big_trace("2", 300'000)}, 1000);
  EXPECT_EQ(page.data_file, folder.path("report.kwdata"));
  boost::json::object index = this->index();
  EXPECT_EQ(index["data_file"].at("name"), "report.kwdata");
  EXPECT_EQ(index["data_file"].at("bytes").to_number<std::uint64_t>(),
            std::filesystem::file_size(page.data_file));
  EXPECT_EQ(read_file(output())->find("vnd.kernelwright.chunk"), std::string::npos);
  check_places(index);
  EXPECT_TRUE(is_data_file(page.data_file));
}

TEST_F(Page, RemovesTheDataFileOfItsPredecessor) {
  write_all({big_trace("1", 1000)}, 1000);
  ASSERT_TRUE(std::filesystem::exists(folder.path("report.kwdata")));
  write_all({big_trace("1", 1000)});
  EXPECT_FALSE(std::filesystem::exists(folder.path("report.kwdata")));
}

TEST_F(Page, IsEqualForEqualInputs) {
  write_all({big_trace("1", 1000)});
  std::string first = *read_file(output());
  write_all({big_trace("1", 1000)});
  EXPECT_EQ(*read_file(output()), first);
}

TEST_F(Page, OfNoRowsIsAPage) {
  WrittenPage page = write_all({});
  EXPECT_EQ(page.chunks, 0U);
  EXPECT_TRUE(is_page(output()));
}

TEST_F(Page, HasNoTextOfTheSourcesOutsideOfBase64) {
  Trace hostile = big_trace("1", 100);
  hostile.task.name = "</script><img src=x onerror=alert(1)>";
  Model model({traces({hostile}, "<img src=x onerror=alert(1)>.json")}, {});
  ASSERT_TRUE(write_page(model, {.output = output(), .summary = {}}));
  std::string html = *read_file(output());
  std::size_t data = html.find("<script type=\"application/vnd.kernelwright.index\"");
  std::size_t end = html.find("</body>", data);
  std::string parts = html.substr(data, end - data);
  EXPECT_EQ(parts.find("onerror"), std::string::npos);
  for (std::size_t at = parts.find('<'); at != std::string::npos; at = parts.find('<', at + 1))
    EXPECT_TRUE(parts.substr(at).starts_with("<script type=\"application/vnd.kernelwright.") ||
                parts.substr(at).starts_with("</script>\n"));
}

TEST_F(Page, LeavesNoFileWhereItCannotBeWritten) {
  Model model({traces({big_trace("1", 100)})}, {});
  write("file", "");
  EXPECT_FALSE(write_page(model, {.output = folder.path("file/report.html"), .summary = {}}));
  EXPECT_FALSE(write_page(model, {.output = "/proc/report.html", .summary = {}}));
}

TEST(Shell, HasAPolicyThatNamesStyleAndScript) {
  std::string head = shell_begin({.title = "a<b>\"&", .program_version = "1"});
  EXPECT_NE(head.find("<title>a&lt;b&gt;&quot;&amp;</title>"), std::string::npos);
  std::string policy = between(head, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; "));
  EXPECT_NE(policy.find("base-uri 'none'; form-action 'none'"), std::string::npos);
  EXPECT_NE(policy.find("require-trusted-types-for 'script'; trusted-types 'none'"), std::string::npos);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  for (std::string_view part : {page_script(), page_style()})
    EXPECT_NE(policy.find(base64_encoded(sha256_bytes(part))), std::string::npos);
}

TEST(Shell, HasScriptAndStyleThatEndWhereTheyShould) {
  std::string script(page_script());
  std::string style(page_style());
  for (const char* end : {"</script", "<!--"}) EXPECT_EQ(script.find(end), std::string::npos) << end;
  EXPECT_EQ(style.find("</style"), std::string::npos);
  EXPECT_FALSE(script.empty());
}

TEST(Shell, OfALivePageHasItsToken) {
  std::string head = shell_begin({.title = "t",
                                  .program_version = "1",
                                  .live_token = "a\"b",
                                  .policy_directives = "connect-src 'self'"});
  EXPECT_NE(head.find("<meta name=\"kernelwright-live\" content=\"a&quot;b\">"), std::string::npos);
  EXPECT_NE(head.find("connect-src 'self'"), std::string::npos);
}

}  // namespace
}  // namespace kw::report
