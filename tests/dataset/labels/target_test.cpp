#include "dataset/labels/target.h"

#include <gtest/gtest.h>

namespace kw::labels {
namespace {

using corpus::Target;

corpus::Unit at(std::string path, std::string text = "x = tl.load(p)") {
  corpus::Unit unit;
  unit.kind = corpus::UnitKind::triton;
  unit.source.path = std::move(path);
  unit.text = std::move(text);
  unit.context = "import torch\nimport triton\nimport triton.language as tl\n";
  return unit;
}

TEST(TargetOf, PlainTritonIsNeutral) {
  EXPECT_EQ(target_of(at("ops/softmax.py")), Target::neutral);
}

TEST(TargetOf, TheInnermostVendorOfThePathCounts) {
  EXPECT_EQ(target_of(at("runtime/backend/_ascend/ops/add.py")), Target::ascend);
  EXPECT_EQ(target_of(at("_nvidia/fused/_kunlunxin/add.py")), Target::kunlunxin);
  EXPECT_EQ(target_of(at("ops/attention_amd.py")), Target::amd);
}

TEST(TargetOf, AWordThatContainsAVendorsNameIsNone) {
  EXPECT_EQ(target_of(at("charm/programs/damd.py")), Target::neutral);
}

TEST(TargetOf, IntrinsicsOfOneVendorCount) {
  EXPECT_EQ(target_of(at("a.py", "y = tl.extra.cuda.libdevice.tanh(x)")), Target::nvidia);
  EXPECT_EQ(target_of(at("a.py", "s = torch.npu.current_stream()")), Target::ascend);
}

TEST(TargetOf, CodeThatChoosesAmongVendorsIsNeutral) {
  EXPECT_EQ(target_of(at("a.py", "y = tl.extra.cuda.f(x) if CUDA else tl.extra.hip.f(x)")), Target::neutral);
}

TEST(TargetOf, CommentsAndStringsAreNoCode) {
  EXPECT_EQ(target_of(at("a.py", "x = 1  # as torch.npu does\ny = 'torch.mlu'")), Target::neutral);
}

TEST(TargetOf, ImportsOfTheContextCount) {
  corpus::Unit unit = at("a.py");
  unit.context = "import torch_npu\n";
  EXPECT_EQ(target_of(unit), Target::ascend);
}

TEST(TargetOf, CudaIsForNvidiaUnlessItSaysOtherwise) {
  corpus::Unit unit;
  unit.kind = corpus::UnitKind::cuda_kernel;
  unit.source.path = "csrc/scale.cu";
  unit.text = "__global__ void f() {}";
  EXPECT_EQ(target_of(unit), Target::nvidia);
  unit.source.path = "csrc/hip/scale.cu";
  EXPECT_EQ(target_of(unit), Target::amd);
}

}  // namespace
}  // namespace kw::labels
