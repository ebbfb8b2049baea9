#include "report/model/redact.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "report/model/fill.h"

namespace kw::report {
namespace {

std::string redacted(std::string_view text) {
  return Redactor(true).text(text);
}

TEST(Redactor, ReplacesPaths) {
  EXPECT_EQ(redacted("in /home/ann/work/a.py, line 3"), "in [path], line 3");
  EXPECT_EQ(redacted(R"(File "/home/ann lee/a.py", line 3)"), R"(File "[path]", line 3)");
  EXPECT_EQ(redacted("see ~/secret/x."), "see [path].");
  EXPECT_EQ(redacted(R"(C:\Users\ann\x.py failed)"), "[path] failed");
}

TEST(Redactor, LeavesCodeAsItIs) {
  for (std::string_view code :
       {"x = a / b", "y = (n + 127) // 128", "@triton.jit\ndef f(x): return x @ w.T", "a[1:2] // c",
        "# and/or", "level1/19_ReLU.py", "password = getpass()", "1.5.2", "f'{a}/{b}'", "/tmp"})
    EXPECT_EQ(redacted(code), code);
}

TEST(Redactor, ReplacesHosts) {
  EXPECT_EQ(redacted("POST http://gpu7.lab.example:8000/v1?k=1 failed"), "POST http://[host] failed");
  EXPECT_EQ(redacted("from 10.1.2.3:80"), "from [host]:80");
  EXPECT_EQ(redacted("by Ann <ann.lee@lab.example.org>"), "by Ann <[host]>");
}

TEST(Redactor, ReplacesKeys) {
  EXPECT_EQ(redacted("sk-abcdefghijklmnopqrstuvwx ok"), "[key] ok");
  EXPECT_EQ(redacted("Authorization: Bearer abc123def456"), "Authorization: Bearer [key]");
  EXPECT_EQ(redacted("api_key = \"s3cr3tvalue\""), "api_key = \"[key]\"");
}

TEST(Redactor, CountsWithoutReplacing) {
  Redactor redactor(false);
  std::string text = "/a/b/c http://h.example/x 10.0.0.1 hf_abcdefghijklmnopqrstuvwx";
  EXPECT_EQ(redactor.text(text), text);
  EXPECT_EQ(redactor.counts().paths, 1U);
  EXPECT_EQ(redactor.counts().hosts, 2U);
  EXPECT_EQ(redactor.counts().keys, 1U);
}

TEST(Redactor, CleansAllTextsAndNamesOfAValue) {
  boost::json::value value = {{"/a/b", {{"c", {"/d/e", 1}}}}, {"f", "/g/h"}};
  Redactor(true).clean(value);
  EXPECT_EQ(boost::json::serialize(value).find("/"), std::string::npos);
}

TEST(Redactor, MakesTextsValidUtf8) {
  EXPECT_EQ(Redactor(false).text("a\xFF"), "a\xEF\xBF\xBD");
  boost::json::value value("\xC3");
  Redactor(false).clean(value);
  EXPECT_EQ(value.as_string(), "\xEF\xBF\xBD");
}

TEST(Redactor, NeedsLinearTime) {
  for (std::string_view piece : {"/a", "~/", "://", "@a.", "1.", "sk-", "\"/a/b ", "bearer "}) {
    std::string text;
    while (text.size() < 1'000'000) text += piece;
    redacted(text);
  }
}

TEST(Licences, AreRestrictedUnlessPermissive) {
  for (const char* permissive :
       {"", " ", "MIT", "mit", "Apache 2.0", "MIT, BSD-3-Clause", "MIT OR GPL-3.0-only"})
    EXPECT_FALSE(is_restricted(permissive)) << permissive;
  for (const char* other : {"GPL-3.0-only", "MIT, GPL-3.0-only", "MIT AND GPL-3.0-only", "other", "no idea"})
    EXPECT_TRUE(is_restricted(other)) << other;
}

TEST(Licences, AreFoundInEveryFormOfARow) {
  EXPECT_EQ(licence_of({{"licence", {{"spdx", "MIT"}, {"evidence", "LICENSE"}}}}), "MIT");
  EXPECT_EQ(licence_of({{"license", "GPL-3.0-only"}}), "GPL-3.0-only");
  EXPECT_EQ(licence_of({{"licenses", boost::json::array{"MIT", "GPL-3.0-only"}}}), "MIT, GPL-3.0-only");
  EXPECT_EQ(licence_of({{"licence", nullptr}}), "");
}

}  // namespace
}  // namespace kw::report
