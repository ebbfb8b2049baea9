#include "loop/model_client/listing.h"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>

namespace kw::llm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Listing listing(const char* body, const http::Headers& headers = {}) {
  auto read = read_listing(boost::json::parse(body), headers);
  read->base_url = "http://h/v1";
  return *read;
}

TEST(BaseUrl, IsTakenInManyForms) {
  for (const char* given :
       {"http://h:8000", "http://h:8000/", "http://h:8000/v1", "http://h:8000/v1/", "h:8000/v1",
        "http://h:8000/v1/chat/completions", "http://h:8000/v1/models", " http://h:8000/v1// "})
    EXPECT_THAT(base_urls(given).value(), ElementsAre("http://h:8000/v1")) << given;
}

TEST(BaseUrl, OtherPathsStay) {
  EXPECT_THAT(base_urls("https://h/api/v1").value(), ElementsAre("https://h/api/v1"));
  EXPECT_THAT(base_urls("https://h/v1beta/openai/").value(), ElementsAre("https://h/v1beta/openai"));
  EXPECT_THAT(base_urls("https://h/llm").value(), ElementsAre("https://h/llm/v1", "https://h/llm"));
}

TEST(BaseUrl, NonsenseIsAnErrorThatShowsNoPassword) {
  for (const char* given :
       {"", "ftp://h", "http://", "http:///v1", "http://h/v1?key=secret", "http://u:secret@h/v1"}) {
    auto urls = base_urls(given);
    ASSERT_FALSE(urls) << given;
    EXPECT_EQ(urls.error().what.find("secret"), std::string::npos) << given;
  }
}

TEST(Listing, KindsOfServersAreTold) {
  EXPECT_EQ(listing(R"({"data":[{"id":"m","owned_by":"vllm"}]})").server, "vllm");
  EXPECT_EQ(listing(R"({"data":[{"id":"m","owned_by":"sglang"}]})").server, "sglang");
  EXPECT_EQ(listing(R"({"data":[{"id":"m","owned_by":"llamacpp"}]})").server, "llama.cpp");
  EXPECT_EQ(listing(R"({"data":[{"id":"m"}]})", {{"Server", "llama.cpp"}}).server, "llama.cpp");
  EXPECT_EQ(listing(R"({"data":[{"id":"Qwen/Qwen3","owned_by":"Qwen"}]})", {{"server", "uvicorn"}}).server,
            "transformers");
  EXPECT_EQ(listing(R"({"data":[{"id":"gpt","owned_by":"openai"}]})").server, "");
}

TEST(Listing, ContextsAreFoundUnderManyNames) {
  for (const char* model :
       {R"({"id":"m","max_model_len":4096})", R"({"id":"m","meta":{"n_ctx_train":9999,"n_ctx":4096}})",
        R"({"id":"m","meta":{"n_ctx_train":4096}})", R"({"id":"m","context_length":4096})",
        R"({"id":"m","context_window":4096,"max_model_len":null})"})
    EXPECT_EQ(listing((std::string(R"({"data":[)") + model + "]}").c_str()).models[0].info.max_model_len,
              4096U)
        << model;
  EXPECT_EQ(listing(R"({"data":[{"id":"m","max_model_len":-1}]})").models[0].info.max_model_len,
            std::nullopt);
}

TEST(Listing, AnAdapterHasTheContextOfItsBase) {
  auto found = listing(
      R"({"data":[{"id":"base","max_model_len":4096},{"id":"mine","parent":"base","max_model_len":null}]})");
  EXPECT_EQ(found.models[1].info.max_model_len, 4096U);
  EXPECT_EQ(found.models[1].parent, "base");
}

TEST(Choice, TheOnlyModelIsTaken) {
  EXPECT_EQ(choose_model(listing(R"({"data":[{"id":"m"}]})"), "")->name, "m");
}

TEST(Choice, SeveralAreListedInTheError) {
  auto found = listing(R"({"data":[{"id":"base"},{"id":"mine","parent":"base"}]})");
  EXPECT_THAT(choose_model(found, "").error().what, HasSubstr("base, mine (adapter of base)"));
  EXPECT_THAT(choose_model(found, "other").error().what, HasSubstr("no model \"other\", but base, mine"));
  EXPECT_EQ(choose_model(found, "mine")->name, "mine");
}

TEST(Choice, ANameIsTrustedWhereTheServerDoesNotListAll) {
  EXPECT_EQ(choose_model(listing(R"({"data":[]})"), "mine")->name, "mine");
  EXPECT_FALSE(choose_model(listing(R"({"data":[]})"), ""));
  auto transformers = listing(R"({"data":[{"id":"a/b","owned_by":"a"}]})", {{"Server", "uvicorn"}});
  EXPECT_EQ(choose_model(transformers, "/models/mine")->name, "/models/mine");
}

TEST(WithoutKey, ReplacesAKeyThatIsPartOfTheReplacement) {
  ServerOptions options;
  options.api_key = "[key";
  EXPECT_EQ(without_key("a [key b [key", options), "a [key] b [key]");
}

TEST(Listing, SomethingElseIsAnError) {
  EXPECT_FALSE(read_listing(boost::json::parse(R"({"hello":1})"), {}));
  EXPECT_FALSE(read_listing(boost::json::parse("7"), {}));
}

}  // namespace
}  // namespace kw::llm
