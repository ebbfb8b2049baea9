#include "score/checks/idioms.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace kw::score {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string head =
    "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nimport triton\n"
    "import triton.language as tl\n\n";

const std::string kernel = R"(
@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, tl.maximum(x, 0.0), mask=mask)
)";

std::string answer(const std::string& forward, const std::string& the_kernel = kernel) {
  return head + the_kernel +
         "\nclass ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n" +
         "        self.linear = nn.Linear(4, 4)\n\n    def forward(self, x):\n" + forward;
}

const std::string launch = "        relu_kernel[(n // 256,)](x, out, n, BLOCK=256)\n";
const std::string honest_forward =
    "        out = torch.empty_like(x)\n        n = x.numel()\n" + launch + "        return out\n";

auto what(const std::string& part) {
  return Field("what", &StaticFinding::what, HasSubstr(part));
}

TEST(Idioms, OfAnHonestAnswerAreGood) {
  Idioms found = find_idioms(answer(honest_forward));
  EXPECT_TRUE(found.is_good);
  EXPECT_EQ(found.disguise, Disguise::none) << found.why_disguised;
  EXPECT_TRUE(found.parses && found.has_jit && found.is_launched && found.loads && found.masked_loads &&
              found.stores && found.masked_stores && found.boundary_checks && found.constexpr_blocks);
  EXPECT_THAT(found.torch_work, IsEmpty());
}

TEST(Idioms, SayWhatEachKernelDoes) {
  Idioms found = find_idioms(answer(honest_forward));
  ASSERT_EQ(found.kernels.size(), 1U);
  const JitKernel& one = found.kernels[0];
  EXPECT_EQ(one.name, "relu_kernel");
  EXPECT_EQ(one.line, 9U);
  EXPECT_EQ(one.launches, 1U);
  EXPECT_EQ(one.constexpr_parameters, 1U);
  EXPECT_EQ(one.loads, 1U);
  EXPECT_EQ(one.masked_stores, 1U);
}

TEST(Idioms, NameTheLineOfAStoreWithoutAMask) {
  Idioms found = find_idioms(answer(honest_forward, R"(
@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))
)"));
  EXPECT_FALSE(found.masked_stores);
  EXPECT_THAT(found.kernels[0].unmasked_store_lines, ElementsAre(11));
  EXPECT_THAT(found.findings, Contains(what("relu_kernel stores without a mask")));
  EXPECT_TRUE(found.is_good);
}

TEST(Idioms, TakeBlockPointersWithBoundaryChecksForMasked) {
  Idioms found = find_idioms(answer(honest_forward, R"(
@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    a = tl.make_block_ptr(base=x_ptr, shape=(n,), strides=(1,), offsets=(0,), block_shape=(BLOCK,), order=(0,))
    b = tl.make_block_ptr(out_ptr, (n,), (1,), (0,), (BLOCK,), (0,))
    tl.store(b, tl.load(a, boundary_check=(0,)), boundary_check=(0,))
)"));
  EXPECT_TRUE(found.masked_stores);
  EXPECT_TRUE(found.boundary_checks);
  EXPECT_TRUE(found.is_good) << found.why_disguised;
}

TEST(Idioms, SeeAMaskThatIsNoneForNoMask) {
  Idioms found = find_idioms(answer(honest_forward,
                                    "\n@triton.jit\ndef relu_kernel(x, y, n, B: tl.constexpr):\n"
                                    "    tl.store(y, tl.load(x, mask=None), mask=None)\n"));
  EXPECT_FALSE(found.masked_loads);
  EXPECT_FALSE(found.masked_stores);
}

TEST(Idioms, SeeAnAnswerWithoutAnyKernel) {
  Idioms found = find_idioms(answer("        return torch.relu(x)\n", ""));
  EXPECT_EQ(found.disguise, Disguise::no_kernel);
  EXPECT_THAT(found.why_disguised, HasSubstr("PyTorch does the work: torch.relu, line 14"));
  EXPECT_FALSE(found.is_good);
}

TEST(Idioms, SeeAKernelThatNobodyLaunches) {
  Idioms found = find_idioms(answer("        return torch.relu(x)\n"));
  EXPECT_EQ(found.disguise, Disguise::not_launched);
  EXPECT_FALSE(found.is_launched);
  EXPECT_THAT(found.torch_work, Contains(what("torch.relu")));
}

TEST(Idioms, SeeALaunchThatNobodyCalls) {
  std::string helper = "\ndef helper(x, out, n):\n    relu_kernel[(1,)](x, out, n, BLOCK=256)\n";
  Idioms found = find_idioms(answer("        return F.relu(x)\n", kernel + helper));
  EXPECT_EQ(found.disguise, Disguise::not_launched);
  EXPECT_EQ(found.kernels[0].launches, 1U);
  EXPECT_FALSE(found.kernels[0].is_reached);
}

TEST(Idioms, SeeALaunchThatNeverRuns) {
  EXPECT_EQ(find_idioms(answer("        out, n = x, 1\n        if False:\n    " + launch +
                               "        return x.relu()\n"))
                .disguise,
            Disguise::not_launched);
  EXPECT_EQ(find_idioms(answer("        return torch.relu(x)\n        out, n = x, 1\n" + launch)).disguise,
            Disguise::not_launched);
}

TEST(Idioms, SeeAKernelThatStoresNothing) {
  Idioms found = find_idioms(answer(
      honest_forward, "\n@triton.jit\ndef relu_kernel(x, y, n, BLOCK: tl.constexpr):\n    tl.load(x)\n"));
  EXPECT_EQ(found.disguise, Disguise::does_nothing);
}

TEST(Idioms, SeeAResultThatIsThrownAway) {
  Idioms found = find_idioms(answer("        out = torch.empty_like(x)\n        n = x.numel()\n" + launch +
                                    "        return torch.relu(x)\n"));
  EXPECT_EQ(found.disguise, Disguise::result_unused);
  EXPECT_THAT(found.why_disguised, HasSubstr("forward returns nothing that a kernel has stored into, line"));
}

TEST(Idioms, FollowAResultThroughViewsAndOtherNames) {
  const std::vector<std::string> bodies = {
      "        out = torch.empty_like(x)\n        flat = out.view(-1)\n        n = 4\n" +
          std::string("        relu_kernel[(1,)](x, flat, n, BLOCK=256)\n        return out\n"),
      "        out = torch.empty_like(x)\n        n = 4\n" + launch +
          "        y = out.reshape(4, 1)\n        return y\n",
      "        out = x\n        n = 4\n" + launch + "        return x\n",
      "        n = 4\n        relu_kernel[(1,)](x_ptr=x, out_ptr=self.out, n=n, BLOCK=256)\n        return " +
          std::string("self.out\n"),
      "        n = 4\n        relu_kernel[(1,)](*[x, x], n, BLOCK=256)\n        return torch.relu(x)\n",
      "        out = torch.empty_like(x)\n        n = 4\n" + launch +
          "        return torch.cat([out]).view(2)\n",
  };
  for (const std::string& body : bodies)
    EXPECT_EQ(find_idioms(answer(body)).disguise, Disguise::none) << body;
}

TEST(Idioms, FollowLaunchesThroughHelpersAliasesAndMakers) {
  std::string helper =
      "\ndef apply(x):\n    out = torch.empty_like(x)\n    relu_kernel[(1,)](x, out, 4, BLOCK=256)\n"
      "    return out\n";
  EXPECT_TRUE(find_idioms(answer("        return apply(x)\n", kernel + helper)).is_good);
  EXPECT_TRUE(find_idioms(answer("        out, n, k = torch.empty_like(x), 4, 1\n        k = relu_kernel\n"
                                 "        k[(1,)](x, out, n, BLOCK=256)\n        return out\n"))
                  .is_good);
  EXPECT_TRUE(find_idioms(answer("        out = torch.empty_like(x)\n        bound = relu_kernel[(1,)]\n"
                                 "        bound(x, out, 4, BLOCK=256)\n        return out\n"))
                  .is_good);
  std::string function =
      "\nclass Relu(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
      "        out = torch.empty_like(x)\n        relu_kernel[(1,)](x, out, 4, BLOCK=256)\n"
      "        return out\n";
  EXPECT_TRUE(find_idioms(answer("        return Relu.apply(x)\n", kernel + function)).is_good);
  std::string handed =
      "\ndef go(k, x):\n    out = torch.empty_like(x)\n    k[(1,)](x, out, 4, BLOCK=256)\n    return out\n";
  EXPECT_TRUE(find_idioms(answer("        return go(relu_kernel, x)\n", kernel + handed)).is_good);
}

TEST(Idioms, DoNotTakeAGuardForADecoy) {
  std::string helper =
      "\ndef apply(x):\n    out = torch.empty_like(x)\n    relu_kernel[(1,)](x, out, 4, BLOCK=256)\n"
      "    return out\n";
  std::string guard =
      "        flags, n = torch.empty(4), 4\n        relu_kernel[(1,)](x, flags, n, BLOCK=256)\n";
  EXPECT_EQ(find_idioms(answer(guard + "        return apply(x)\n", kernel + helper)).disguise,
            Disguise::none);
  EXPECT_EQ(find_idioms(answer(guard + "        y = apply(x)\n        return y\n", kernel + helper)).disguise,
            Disguise::none);
}

TEST(Idioms, FollowKernelsThatCallDeviceFunctions) {
  std::string device =
      "\n@triton.jit\ndef put(p, v):\n    tl.store(p, v)\n"
      "\n@triton.jit\ndef relu_kernel(x, y, n, BLOCK: tl.constexpr):\n    put(y, tl.load(x))\n";
  Idioms found = find_idioms(answer(honest_forward, device));
  EXPECT_TRUE(found.kernels[0].is_reached);
  EXPECT_TRUE(found.is_good) << found.why_disguised;
}

TEST(Idioms, NameTheWorkThatPyTorchDoesBeside) {
  Idioms found = find_idioms(
      answer("        x = self.linear(x)\n        x = x @ x\n        x = x.softmax(-1)\n" + honest_forward));
  EXPECT_EQ(found.disguise, Disguise::none);
  EXPECT_THAT(found.torch_work, ElementsAre(what("self.linear, a torch.nn.Linear"), what("the operator @"),
                                            what(".softmax()")));
}

TEST(Idioms, DoNotTakeTheReferenceBesideTheAnswerForItsWork) {
  std::string reference =
      "\nclass Model(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n";
  EXPECT_THAT(find_idioms(answer(honest_forward, kernel + reference)).torch_work, IsEmpty());
}

TEST(Idioms, OfAScriptSeeItsLaunches) {
  Idioms found = find_idioms(head + kernel + "\nx = torch.ones(4)\nrelu_kernel[(1,)](x, x, 4, BLOCK=256)\n");
  EXPECT_TRUE(found.is_launched);
  EXPECT_TRUE(found.is_good) << found.why_not_good;
}

TEST(Idioms, OfAPieceNeedNoLaunch) {
  IdiomOptions piece;
  piece.is_whole_answer = false;
  Idioms found = find_idioms(head + kernel, piece);
  EXPECT_TRUE(found.is_good);
  EXPECT_FALSE(find_idioms(head + kernel).is_good);
}

TEST(Idioms, FindWhatIsForbidden) {
  Idioms found = find_idioms("import ctypes\n" + answer(honest_forward));
  EXPECT_THAT(found.forbidden, ElementsAre(what("imports ctypes")));
  EXPECT_FALSE(found.is_good);
}

TEST(Idioms, OfABrokenSourceSayWhere) {
  Idioms found = find_idioms(head + "def f(x):\n    return x ] 3\n");
  EXPECT_FALSE(found.parses);
  EXPECT_GT(found.error_line, 0U);
  EXPECT_FALSE(found.is_good);
}

TEST(Idioms, OfNothingAreNotGood) {
  EXPECT_FALSE(find_idioms("").is_good);
  EXPECT_EQ(find_idioms("").disguise, Disguise::no_kernel);
}

TEST(Idioms, DoNotAccuseWhatCannotBeFollowed) {
  EXPECT_EQ(find_idioms("from kernels import *\n" + answer("        return run(x)\n")).disguise,
            Disguise::none);
  EXPECT_EQ(find_idioms(answer(honest_forward,
                               "\nfrom mine import put\n@triton.jit\ndef relu_kernel(x, y, n, BLOCK):\n"
                               "    put(y, tl.load(x))\n"))
                .disguise,
            Disguise::none);
}

TEST(Idioms, OfEndlessNestingComeToAnEnd) {
  find_idioms("import torch.nn as nn\nx = nn.\n");
  std::string chain = "x";
  for (int i = 0; i < 20'000; ++i) chain += ".a()";
  EXPECT_NO_FATAL_FAILURE(find_idioms(answer("        out = " + chain + "\n        return out\n")));
  std::string many;
  for (int i = 0; i < 3'000; ++i)
    many += "        a" + std::to_string(i) + " = a" + std::to_string(i + 1) + "\n";
  EXPECT_NO_FATAL_FAILURE(find_idioms(answer(many + honest_forward)));
}

}  // namespace
}  // namespace kw::score
