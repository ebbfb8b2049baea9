// The three states of a static check: pass, unproven, fail.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "answer_text.h"
#include "score/checks/idioms.h"

namespace kw::score {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

CheckState state_of_kernel(const std::string& body) {
  return check({.kernel = body}).state;
}

CheckState state_of_forward(const std::string& body) {
  return check({.kernel = masked, .forward = body}).state;
}

using Reason = std::pair<Check, StaticFinding>;

// Why the checks are not pass.
std::vector<Reason> doubts_of(const Idioms& idioms) {
  std::vector<Reason> reasons;
  for (const CheckResult& one : idioms.checks)
    for (const StaticFinding& finding : one.why) reasons.emplace_back(one.check, finding);
  return reasons;
}

auto doubts(Check check, const std::string& part) {
  return Pair(check, Field("what", &StaticFinding::what, HasSubstr(part)));
}

TEST(IdiomStates, PassWithMasks) {
  Idioms found = check({.kernel = masked});
  EXPECT_EQ(found.state, CheckState::pass);
  EXPECT_THAT(doubts_of(found), IsEmpty());
}

TEST(IdiomStates, AreUnprovenWithoutMaskAndProof) {
  Idioms found = check({});
  EXPECT_EQ(found.state, CheckState::unproven);
  EXPECT_TRUE(found.is_good);
  ASSERT_EQ(doubts_of(found).size(), 2U);
  EXPECT_THAT(doubts_of(found)[0], doubts(Check::in_bounds, "nothing proves that BLOCK divides the size"));
  EXPECT_EQ(doubts_of(found)[0].second.line, 9U);
}

TEST(IdiomStates, TakeAMaskThatIsAlwaysTrueForNone) {
  EXPECT_EQ(state_of_kernel("    offs = tl.arange(0, BLOCK)\n"
                            "    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=True), mask=True)\n"),
            CheckState::unproven);
}

TEST(IdiomStates, FailWithADisguiseAndWithBrokenSource) {
  EXPECT_EQ(state_of_forward("        return torch.relu(x)\n"), CheckState::fail);
  EXPECT_EQ(find_idioms("def f(x):\n    return x ] 3\n").state, CheckState::fail);
  EXPECT_EQ(check({.before = "import ctypes\n", .kernel = masked}).state, CheckState::fail);
}

TEST(IdiomStates, NeedNoMaskForASingleElement) {
  EXPECT_EQ(state_of_kernel("    row = tl.program_id(0)\n"
                            "    tl.store(out_ptr + row, tl.load(x_ptr + row))\n"),
            CheckState::pass);
}

TEST(IdiomStates, TakeAssertionsOfTheHostForProofs) {
  const std::vector<std::string> assertions = {
      "        assert n % 256 == 0\n",
      "        assert n % 1024 == 0 and x.is_cuda, 'sizes'\n",
      "        assert not n % 256\n",
      "        if n % 256 != 0:\n            raise ValueError('size')\n",
      "        if x.ndim != 1 or n % 256:\n            raise ValueError('size')\n",
      "        torch._assert(n % 256 == 0, 'size')\n",
  };
  for (const std::string& assertion : assertions)
    EXPECT_EQ(check({.forward = assertion + Source{}.forward}).state, CheckState::pass) << assertion;
}

TEST(IdiomStates, FollowTheNameOfABlockToItsAssertion) {
  const std::string launch = "        relu[(n // SIZE,)](x, out, n, BLOCK=SIZE)\n        return out\n";
  EXPECT_EQ(check({.before = "SIZE = 512\n", .forward = "        assert n % SIZE == 0\n" + launch}).state,
            CheckState::pass);
  EXPECT_EQ(check({.before = "SIZE = 512\n", .forward = "        assert n % 512 == 0\n" + launch}).state,
            CheckState::pass);
  EXPECT_EQ(check({.before = "SIZE = 512\n", .forward = launch}).state, CheckState::unproven);
}

TEST(IdiomStates, RefuseAssertionsThatProveNothing) {
  const std::vector<std::string> assertions = {
      "        assert n % 128 == 0\n",                              // the block has 256
      "        assert 512 % 256 == 0\n",                            // says nothing about an input
      "        assert n % 256 == 0 or True\n",                      // never fails
      "        assert n % 256 == 1\n",                              // the opposite
      "        assert n % 1 == 0\n",                                // always holds
      "        if self.debug:\n            assert n % 256 == 0\n",  // does not always run
      "        if False:\n            assert n % 256 == 0\n",
      "        if n % 256 == 0:\n            raise ValueError('size')\n",
      "        if n % 256 != 0 and x.ndim == 9:\n            raise ValueError('size')\n",
      "        if n % 256 != 0:\n            print('size')\n",
  };
  for (const std::string& assertion : assertions)
    EXPECT_EQ(check({.forward = assertion + Source{}.forward}).state, CheckState::unproven) << assertion;
}

TEST(IdiomStates, RefuseAnAssertionThatNobodyCalls) {
  EXPECT_EQ(check({.before = "def never(n):\n    assert n % 256 == 0\n"}).state, CheckState::unproven);
}

TEST(IdiomStates, NeedAProofForEveryLaunch) {
  const std::string second = "        relu[(1,)](x, out, n, BLOCK=1024)\n";
  EXPECT_EQ(check({.forward = "        assert n % 256 == 0\n" + second + Source{}.forward}).state,
            CheckState::unproven);
}

TEST(IdiomStates, TakeABlockOfTheWholeDimensionForProven) {
  EXPECT_EQ(
      check({.forward = "        relu[(1,)](x, out, n, BLOCK=x.shape[-1])\n        return out\n"}).state,
      CheckState::pass);
  EXPECT_EQ(check({.forward = "        rows, width = x.shape\n"
                              "        relu[(rows,)](x, out, n, BLOCK=width)\n        return out\n"})
                .state,
            CheckState::pass);
  EXPECT_EQ(check({.forward = "        relu[(1,)](x, out, n, BLOCK=triton.next_power_of_2(x.shape[-1]))\n"
                              "        return out\n"})
                .state,
            CheckState::unproven);
}

TEST(IdiomStates, TakeStaticAssertionsOfTheKernelForProofs) {
  EXPECT_EQ(state_of_kernel("    tl.static_assert(n % BLOCK == 0)\n" + Source{}.kernel), CheckState::pass);
  // These check nothing in a normal run.
  EXPECT_EQ(state_of_kernel("    tl.device_assert(n % BLOCK == 0)\n" + Source{}.kernel),
            CheckState::unproven);
  EXPECT_EQ(state_of_kernel("    tl.assume(n % BLOCK == 0)\n" + Source{}.kernel), CheckState::unproven);
}

TEST(IdiomStates, TakeBoundaryChecksAndDescriptorsForProofs) {
  const std::string pointer =
      "    p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,))\n"
      "    q = tl.make_block_ptr(out_ptr, (n,), (1,), (0,), (BLOCK,), (0,))\n";
  EXPECT_EQ(state_of_kernel(pointer + "    v = tl.load(p, boundary_check=(0,))\n"
                                      "    tl.store(q, v, boundary_check=(0,))\n"),
            CheckState::pass);
  // A block pointer checks no bounds by itself.
  EXPECT_EQ(state_of_kernel(pointer + "    tl.store(q, tl.load(p))\n"), CheckState::unproven);
  EXPECT_EQ(state_of_kernel(pointer + "    tl.store(q, tl.load(p, boundary_check=()), boundary_check=())\n"),
            CheckState::unproven);
  EXPECT_EQ(state_of_kernel("    d = tl.make_tensor_descriptor(x_ptr, [n], [1], [BLOCK])\n"
                            "    e = tl.make_tensor_descriptor(out_ptr, [n], [1], [BLOCK])\n"
                            "    e.store([0], d.load([0]))\n"),
            CheckState::pass);
}

TEST(IdiomStates, TakeOffsetsWithALimitForProven) {
  EXPECT_EQ(state_of_kernel("    offs = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) % n\n"
                            "    tl.store(out_ptr + offs, tl.load(x_ptr + offs))\n"),
            CheckState::pass);
  EXPECT_EQ(state_of_kernel("    offs = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) % BLOCK\n"
                            "    tl.store(out_ptr + offs, tl.load(x_ptr + offs))\n"),
            CheckState::unproven);
}

TEST(IdiomStates, TakeAFlagOfDivisibilityForAProofInItsBranch) {
  const std::string heuristics =
      "@triton.heuristics({\"BLOCK_FITS\": lambda args: args[\"n\"] % args[\"BLOCK\"] == 0})\n"
      "@triton.jit\n";
  const std::string body =
      "    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    if BLOCK_FITS:\n"
      "        v = tl.load(x_ptr + offs)\n    else:\n        v = tl.load(x_ptr + offs, mask=offs < n)\n"
      "    tl.store(out_ptr + offs, v, mask=offs < n)\n";
  EXPECT_EQ(check({.decorators = heuristics, .kernel = body}).state, CheckState::pass);
  EXPECT_EQ(check({.kernel = body}).state, CheckState::unproven);
}

TEST(IdiomStates, DoNotTrustAddressesOfAnotherFunction) {
  Idioms found = check({.before = "@triton.jit\ndef put(p, v):\n    tl.store(p, v)\n",
                        .kernel = "    offs = tl.arange(0, BLOCK)\n"
                                  "    put(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n))\n"});
  EXPECT_EQ(found.state, CheckState::unproven);
  EXPECT_THAT(doubts_of(found),
              Contains(doubts(Check::in_bounds, "its address comes from another function")));
}

TEST(IdiomStates, AreUnprovenWhereCodeCannotBeFollowed) {
  Idioms found = find_idioms(
      "from kernels import *\nclass ModelNew:\n    def forward(self, x):\n"
      "        return run(x)\n@triton.jit\ndef k(p):\n    pass\n");
  EXPECT_NE(found.state, CheckState::pass);
  EXPECT_EQ(check({.before = "from mine import put\n", .kernel = "    put(out_ptr, tl.load(x_ptr))\n"}).state,
            CheckState::unproven);
  EXPECT_EQ(find_idioms(std::string(600'000, '#')).state, CheckState::unproven);
}

TEST(IdiomStates, AreUnprovenWithoutAnyLoad) {
  EXPECT_THAT(doubts_of(check({.kernel = "    tl.store(out_ptr, 0.0)\n"})),
              ElementsAre(doubts(Check::loads, "no kernel loads anything")));
}

// Fallbacks.

const std::string apply =
    "def apply(x):\n    out = torch.empty_like(x)\n    relu[(1,)](x, out, x.numel(), BLOCK=256)\n"
    "    return out\n";

TEST(IdiomFallbacks, AreSeenInBranches) {
  const std::string launch = "relu[(1,)](x, out, n, BLOCK=256)\n";
  const std::vector<std::string> forwards = {
      "        if not x.is_cuda:\n            return torch.relu(x)\n        " + launch +
          "        return out\n",
      "        if x.is_cuda:\n            " + launch +
          "        else:\n            out = x + y\n"
          "        return out\n",
      "        if x.is_cuda:\n            " + launch + "            return out\n        return x + y\n",
      "        if x.is_cuda:\n            " + launch +
          "            return out\n        z = x.relu()\n"
          "        return z\n",
      "        return apply(x) if x.is_cuda else torch.relu(x)\n",
      "        return apply(x) if x.is_cuda else x * y\n",
  };
  for (const std::string& forward : forwards) {
    Idioms found = check({.kernel = masked, .forward = forward, .after = "\n" + apply});
    EXPECT_EQ(found.state, CheckState::unproven) << forward;
    EXPECT_EQ(found.disguise, Disguise::none) << forward;
    ASSERT_FALSE(doubts_of(found).empty()) << forward;
    EXPECT_EQ(doubts_of(found)[0].first, Check::no_fallback) << forward;
  }
}

TEST(IdiomFallbacks, AreSeenInHandlersOfExceptions) {
  const std::vector<std::string> handlers = {
      "            return torch.relu(x)\n",
      "            out = x + y\n",
      "            out = x.relu()\n",
      "            return x * y\n",
      "            return x.__add__(y)\n",
      "            return plain(x)\n",
      "            return -x\n",
      "            return self.plain(x)\n",
  };
  const std::string plain = "\ndef plain(x):\n    return torch.relu(x)\n";
  for (const std::string& handler : handlers) {
    Idioms found = check({.kernel = masked,
                          .forward = "        try:\n            out = apply(x)\n        except Exception:\n" +
                                     handler + "        return out\n",
                          .after = "    def plain(self, x):\n        return x.relu()\n\n" + apply + plain});
    EXPECT_EQ(found.state, CheckState::unproven) << handler;
    ASSERT_FALSE(doubts_of(found).empty()) << handler;
    EXPECT_EQ(doubts_of(found)[0].first, Check::no_fallback) << handler;
  }
}

TEST(IdiomFallbacks, AreSeenAfterASwallowedException) {
  EXPECT_EQ(check({.kernel = masked,
                   .forward = "        try:\n            return apply(x)\n        except RuntimeError:\n"
                              "            pass\n        return torch.relu(x)\n",
                   .after = "\n" + apply})
                .state,
            CheckState::unproven);
}

TEST(IdiomFallbacks, AreNoneInHonestCode) {
  const std::string launch = "        relu[(1,)](x, out, n, BLOCK=256)\n";
  const std::vector<std::string> forwards = {
      "        if y is None:\n            y = torch.zeros(4)\n" + launch + "        return out\n",
      "        if not x.is_contiguous():\n            x = x.contiguous()\n" + launch + "        return out\n",
      launch + "        if self.mean:\n            return out.mean()\n        return out\n",
      launch + "        if self.double:\n            out = out * 2\n        return out\n",
      launch + "        return out.sum() / n\n",
      "        grid = (n + 255) // 256\n        if n > 4:\n            grid = grid * 2\n" + launch +
          "        return out\n",
      "        try:\n    " + launch +
          "        except RuntimeError as error:\n"
          "            raise ValueError('no device') from error\n        return out\n",
      "        if n == 0:\n            return torch.empty_like(x)\n" + launch + "        return out\n",
  };
  for (const std::string& forward : forwards)
    EXPECT_EQ(state_of_forward(forward), CheckState::pass) << forward;
}

TEST(IdiomOperators, OnTensorsAreWork) {
  auto work = [](const std::string& line) {
    return check({.kernel = masked, .forward = line + Source{}.forward}).torch_work;
  };
  auto is = [](const std::string& word) {
    return ElementsAre(Field("what", &StaticFinding::what, "the operator " + word));
  };
  EXPECT_THAT(work("        x = x + 1\n"), is("+"));
  EXPECT_THAT(work("        x *= 2\n"), is("*="));
  EXPECT_THAT(work("        z = 2 / x.view(-1)\n"), is("/"));
  EXPECT_THAT(work("        z = -x\n"), is("-"));
  EXPECT_THAT(work("        z = x.shape[0] * 2 + x.numel() // 4 + x.stride(0) * n\n"), IsEmpty());
  EXPECT_THAT(work("        grid = lambda meta: ((n + meta['BLOCK'] - 1) // meta['BLOCK'],)\n"), IsEmpty());
}

TEST(IdiomOperators, AreNamedInADisguise) {
  Idioms found = state_of_forward("        return x + y\n") == CheckState::fail
                     ? check({.kernel = masked, .forward = "        return x + y\n"})
                     : Idioms{};
  EXPECT_EQ(found.disguise, Disguise::not_launched);
  EXPECT_THAT(found.why_disguised, HasSubstr("PyTorch does the work: the operator +, line"));
}

TEST(IdiomStates, OfEndlessNestingComeToAnEnd) {
  std::string sum = "x";
  for (int i = 0; i < 5'000; ++i) sum += " + x";
  EXPECT_NO_FATAL_FAILURE(state_of_forward("        return " + sum + "\n"));
  std::string chain;
  for (int i = 0; i < 2'000; ++i) chain += fmt::format("    a{} = a{} + tl.arange(0, BLOCK)\n", i + 1, i);
  EXPECT_EQ(state_of_kernel(chain + "    tl.store(out_ptr + a2000, tl.load(x_ptr))\n"), CheckState::unproven);
}

// Each of these took minutes when a check searched a piece of code once for each piece around it.
TEST(IdiomStates, OfALongChainOfFunctionsAreFound) {
  std::string functions;
  for (int i = 0; i < 5'000; ++i) functions += fmt::format("def f{}(x):\n    return f{}(x)\n", i, i + 1);
  Idioms found =
      check({.before = functions + "def f5000(x):\n    relu[(1,)](x, x, 1, BLOCK=1)\n    return x\n",
             .kernel = masked,
             .forward = "        return f0(x)\n"});
  EXPECT_EQ(found.state, CheckState::pass);
}

TEST(IdiomStates, OfManyMethodsOfOneNameAreFound) {
  std::string classes;
  for (int i = 0; i < 100; ++i) {
    classes += fmt::format("class C{}:\n    def m(self, x):\n", i);
    for (int call = 0; call < 30; ++call) classes += "        x.m(x)\n";
  }
  Idioms found = check({.kernel = masked,
                        .forward = "        if n:\n            relu[(1,)](x, out, n, BLOCK=1)\n"
                                   "        else:\n            out = y.m(x)\n        return out\n",
                        .after = classes});
  EXPECT_EQ(found.state, CheckState::pass);
}

TEST(IdiomStates, OfCallsNestedInCallsAreUnproven) {
  std::string calls;
  for (int i = 0; i < 8'000; ++i) calls += "x.foo(";
  std::string forward = "        relu[(1,)](x, out, n, BLOCK=1)\n        return " + calls + "x";
  EXPECT_EQ(state_of_forward(forward + std::string(8'000, ')') + "\n"), CheckState::unproven);
}

}  // namespace
}  // namespace kw::score
