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
  EXPECT_EQ(redacted("OUT=/data/ann/x --root=/srv/ann"), "OUT=[path] --root=[path]");
  EXPECT_EQ(redacted("gcc -I/home/ann/include ä/home/ann"), "gcc -I[path] ä[path]");
  EXPECT_EQ(redacted("in /home/ann//work/x //home/ann/x"), "in [path] /[path]");
}

TEST(Redactor, LeavesCodeAsItIs) {
  for (std::string_view code :
       {"x = a / b", "y = (n + 127) // 128", "@triton.jit\ndef f(x): return x @ w.T", "a[1:2] // c",
        "# and/or", "level1/19_ReLU.py", "password = getpass()", "1.5.2", "f'{a}/{b}'", "/tmp", "n /a//b",
        "a[1::2], a[::-1], 12:34:56", "threading.local()", "next_token = tokens_1[0]",
        "token = self.tokenizer_2.decode(x)", "x = -----1", "num_tokens: 1234567890123456789"})
    EXPECT_EQ(redacted(code), code);
}

TEST(Redactor, ReplacesHosts) {
  EXPECT_EQ(redacted("POST http://gpu7.lab.example:8000/v1?k=1 failed"), "POST http://[host] failed");
  EXPECT_EQ(redacted("from 10.1.2.3:80"), "from [host]:80");
  EXPECT_EQ(redacted("by Ann <ann.lee@lab.example.org>"), "by Ann <[host]>");
  EXPECT_EQ(redacted("on gpu7.lab.internal:8080, node-1.x.local."), "on [host]:8080, [host].");
  EXPECT_EQ(redacted("bind 2001:db8::dead:beef and [fe80::1ff:fe23:1]"), "bind [host] and [[host]]");
}

TEST(Redactor, ReplacesKeys) {
  EXPECT_EQ(redacted("sk-abcdefghijklmnopqrstuvwx ok"), "[key] ok");
  EXPECT_EQ(redacted("Authorization: Bearer abc123def456"), "Authorization: Bearer [key]");
  EXPECT_EQ(redacted("api_key = \"s3cr3tvalue\""), "api_key = \"[key]\"");
  EXPECT_EQ(redacted("OPENAI_API_KEY=abc123def456"), "OPENAI_API_KEY=[key]");
  EXPECT_EQ(redacted("AWS_SECRET_ACCESS_KEY=abc/123def456"), "AWS_SECRET_ACCESS_KEY=[key]");
  EXPECT_EQ(redacted("HF_TOKEN=abcdefgh12345678"), "HF_TOKEN=[key]");
  EXPECT_EQ(redacted(R"({"password":"letmein"})"), R"({"password":"[key]"})");
  EXPECT_EQ(redacted("a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b"), "a [key] b");
  EXPECT_EQ(redacted("-----BEGIN PRIVATE KEY-----\nMII"), "[key]");
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

TEST(Redactor, LeavesPromptsOutOfEveryValue) {
  boost::json::value value = {{"system_prompt", "be brief"},
                              {"prompt_tokens", 3},
                              {"row", {{"messages", {{{"role", "user"}, {"content", "be brief"}}}}}}};
  boost::json::value kept = value;
  Redactor(false).clean(kept);
  EXPECT_EQ(kept, value);
  Redactor(true).clean(value);
  EXPECT_FALSE(boost::json::serialize(value).contains("brief"));
  EXPECT_EQ(value.at("prompt_tokens"), 3);
}

TEST(Redactor, MakesTextsValidUtf8) {
  EXPECT_EQ(Redactor(false).text("a\xFF"), "a\xEF\xBF\xBD");
  boost::json::value value("\xC3");
  Redactor(false).clean(value);
  EXPECT_EQ(value.as_string(), "\xEF\xBF\xBD");
}

TEST(Redactor, NeedsLinearTime) {
  for (std::string_view piece : {"/a", "~/", "://", "@a.", "1.", "sk-", "\"/a/b ", "bearer ", "a.a", "ab-",
                                 "1:a", "_token ", "password=", "-----BEGIN ", "/home/", "=/a//"}) {
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
  EXPECT_EQ(licence_of({{"licence", boost::json::object()}, {"license", "GPL-3.0-only"}}), "GPL-3.0-only");
  EXPECT_EQ(licence_of({{"licenses", {{{"name", "GPL-3.0-only"}}, {{"key", "MIT"}}}}}), "GPL-3.0-only, MIT");
  EXPECT_EQ(licence_of({{"metadata", {{"license", "GPL-3.0-only"}}}}), "GPL-3.0-only");
  EXPECT_TRUE(is_restricted(licence_of({{"license", {{"terms", "ask us"}}}})));
  EXPECT_TRUE(is_restricted(licence_of({{"license", boost::json::array{std::string("MIT\0x", 5)}}})));
}

}  // namespace
}  // namespace kw::report
