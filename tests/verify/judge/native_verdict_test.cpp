// Native code is a candidate's own where the broker builds equal machine code of the sources handed over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "image.h"
#include "kernels_world.h"
#include "verify/judge/native_builds.h"
#include "verify/recording/elf.h"

namespace kw::verify {
namespace {

using namespace test;
using wire::Body;

recording::Image cubin() {
  return recording::image_of({.kernels = {"built"}});
}

std::uint64_t code_of_cubin() {
  return recording::code_key(recording::Elf::of(cubin())->code_of("built"));
}

std::string as_string(const recording::Image& image) {
  return {image.begin(), image.end()};
}

// A world whose candidate launches one kernel that Triton did not make.
struct NativeWorld : VerdictWorld {
  explicit NativeWorld(std::uint64_t code, std::string name = "mine") {
    for (int nth : {1, 2})
      fake.when("replayer", Body::LoadRecording, says<wire::ReplayableT>([=](auto& facts) {
                  facts.launches[0]->name = name;
                  facts.launches[0]->cubin_sha256 = "f";
                  facts.launches[0]->code = code;
                }),
                nth);
  }

  // The source passes sources to a builder, which was called with them.
  void builds() {
    job.candidate.code +=
        "from torch.utils.cpp_extension import load_inline\nm = load_inline('m', cuda_sources='int x;')\n";
    fake.when("runner", Body::Call, says<wire::ReturnedT>([](auto& call) { call.native_code = true; }));
  }

  void broker(std::function<void(wire::AttestedT&)> says_so, std::string file = "") {
    fake.when("broker", Body::Attest, [=](const wire::BodyUnion&, Reaction& usual) {
      says_so(*usual.answer.AsAttested());
      if (!file.empty()) usual.fds.push_back(std::move(*memory_file("cubins", file)));
    });
  }

  void broker_builds(const std::string& file) {
    broker([=](auto& answer) { answer.sources = 1, answer.cubin_bytes = {file.size()}; }, file);
  }
};

std::string whose_is_the_first(const Verdict& verdict) {
  return verdict.launches && !verdict.launches->empty() ? verdict.launches->front().whose.value_or("")
                                                        : "none";
}

TEST(NativeCode, ThatTheBrokerBuildsTooIsOwn) {
  for (const char* name : {"mine", "_ZN7cutlass4gemmEv"}) {
    NativeWorld world(code_of_cubin(), name);
    world.builds();
    world.broker_builds(as_string(cubin()));
    const Verdict verdict = world.run();
    EXPECT_EQ(whose_is_the_first(verdict), "native");
    EXPECT_EQ(verdict.counts, true);
    EXPECT_FALSE(VerdictWorld::finds(verdict, "unattested"));
  }
}

// Such as CuPy's, which no builder of PyTorch's makes.
TEST(NativeCode, ThatTheBrokerBuildsTooNeedsNoClaim) {
  NativeWorld world(code_of_cubin());
  world.broker_builds(as_string(cubin()));
  EXPECT_EQ(world.run().counts, true);
}

TEST(NativeCode, ThatIsInTheCensusIsALibrarysWhoeverBuildsIt) {
  const recording::Image image = cubin();
  EXPECT_EQ(code_keys({as_string(image), "no cubin"}), std::set{code_of_cubin()});
  const Origins origins{.census = std::make_shared<const census::Census>(std::vector{code_of_cubin()}),
                        .built = code_keys({as_string(image)})};
  EXPECT_EQ(whose({"ab", code_of_cubin(), "mine"}, origins), "library");
}

TEST(NativeCode, ThatAReferenceLaunchesIsALibrarys) {
  EXPECT_EQ(whose({"ab", 8, "mine"}, {.library = {"ab"}, .built = {8}}), "library");
}

TEST(NativeCode, WithoutCodeIsNotBuilt) {
  EXPECT_EQ(whose({"ab", 0, "mine"}, {.built = {0}}), "unattested");
}

TEST(NativeCode, OtherThanTheSourcesBuildIsUnattested) {
  NativeWorld world(code_of_cubin() + 1);
  world.builds();
  world.broker_builds(as_string(cubin()));
  const Verdict verdict = world.run();
  EXPECT_EQ(whose_is_the_first(verdict), "unattested");
  EXPECT_EQ(verdict.counts_reason, CountsReason::library_only);
  EXPECT_TRUE(
      VerdictWorld::finds(verdict, "mine is unattested: the source of CUDA C++ that was handed over builds"));
}

TEST(NativeCode, OfASourceThatTheCompilerRefusesIsUnattested) {
  NativeWorld world(code_of_cubin());
  world.builds();
  world.broker([](auto& answer) { answer.sources = 2, answer.wrong = {"the compiler refuses the source"}; });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts_reason, CountsReason::library_only);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "other machine code (the compiler refuses the source)"));
}

TEST(NativeCode, WithoutASourceIsUnattested) {
  NativeWorld world(code_of_cubin());
  world.builds();
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts_reason, CountsReason::library_only);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "no source of it was handed over"));
}

TEST(NativeCode, ThatTheBrokerCannotBuildIsOwnAsItsProcessClaims) {
  NativeWorld world(code_of_cubin());
  world.builds();
  world.broker([](auto& answer) { answer.sources = 1, answer.not_built = {"there is no nvcc"}; });
  const Verdict verdict = world.run();
  EXPECT_EQ(whose_is_the_first(verdict), "unattested");
  EXPECT_EQ(verdict.counts, true);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "could not build all CUDA C++"));
}

TEST(NativeCode, ThatTheBrokerCannotBuildIsNotOwnWithoutAClaim) {
  NativeWorld world(code_of_cubin());
  world.broker([](auto& answer) { answer.sources = 1, answer.not_built = {"there is no nvcc"}; });
  EXPECT_EQ(world.run().counts_reason, CountsReason::library_only);
}

TEST(NativeCode, OfABrokerThatIsLostIsOwnAsItsProcessClaims) {
  NativeWorld world(code_of_cubin());
  world.builds();
  world.fake.when("broker", Body::Attest, ends(Ending::closes));
  EXPECT_EQ(world.run().counts, true);
}

// A broker's child runs compilers on a candidate's text, so its answer may be anything.
TEST(NativeCode, OfFewerBytesThanItsBrokerNamesIsNone) {
  NativeWorld shorter(code_of_cubin());
  const std::string file = as_string(cubin());
  shorter.broker([=](auto& answer) { answer.cubin_bytes = {file.size(), 1}; }, file);
  NativeWorld absent(code_of_cubin());
  absent.broker([](auto& answer) { answer.cubin_bytes = {1}; });
  for (NativeWorld* world : {&shorter, &absent}) {
    const Verdict verdict = world->run();
    EXPECT_EQ(whose_is_the_first(verdict), "unattested");
    EXPECT_TRUE(VerdictWorld::finds(verdict, "no kernel could be attested"));
  }
}

}  // namespace
}  // namespace kw::verify
