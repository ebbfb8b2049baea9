#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harvest_world.h"

namespace kw::harvest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(CudaUnit, HasTemplateLineSignatureAndParameters) {
  std::string text =
      "template <typename T>\n__global__ void __launch_bounds__(256) scale(const T* __restrict__ x, T* y, "
      "int n = 4) {\n"
      "  y[threadIdx.x] = x[threadIdx.x];\n}";
  corpus::Unit unit = named(cuda_units("// Scales.\n" + text + "\n"), "scale");
  EXPECT_EQ(unit.kind, corpus::UnitKind::cuda_kernel);
  EXPECT_EQ(unit.text, text);
  EXPECT_EQ(unit.text.substr(unit.signature_bytes), "  y[threadIdx.x] = x[threadIdx.x];\n}");
  EXPECT_EQ(unit.doc, "Scales.");
  ASSERT_EQ(unit.parameters.size(), 3U);
  EXPECT_EQ(unit.parameters[0].name, "x");
  EXPECT_EQ(unit.parameters[0].annotation, "const T* __restrict__");
  EXPECT_EQ(unit.parameters[2].annotation, "int");
  EXPECT_EQ(unit.parameters[2].preset, "4");
}

TEST(CudaUnit, KeepsItsLanguageLinkage) {
  corpus::Unit unit = named(cuda_units("extern \"C\" __global__ void f(int n) { n = 1; }\n"), "f");
  EXPECT_THAT(unit.text, testing::StartsWith("extern \"C\" __global__"));
}

TEST(CudaUnit, IsFoundUnderConditionsAndNamespaces) {
  auto units = cuda_units(
      "#ifdef A\nnamespace n {\n__device__ float f(float x) { return x; }\n}\n#endif\nvoid host() {}\n");
  ASSERT_EQ(units.size(), 1U);
  EXPECT_EQ(units[0].kind, corpus::UnitKind::cuda_device);
}

TEST(CudaUnit, HasTheDefinitionsOfItsFileThatItUses) {
  corpus::Unit unit = named(cuda_units("#include <cuda.h>\n#include \"gone.cuh\"\n#define WIDTH 4\n#define "
                                       "UNUSED 5\nstruct Pair { float a; };\n"
                                       "__device__ float half(Pair p) { return p.a / WIDTH; }\n"
                                       "__global__ void f(float* x) { Pair p; x[0] = half(p); }\n"),
                            "f");
  EXPECT_THAT(unit.context, HasSubstr("#include <cuda.h>\n"));
  EXPECT_THAT(unit.context, HasSubstr("#define WIDTH 4"));
  EXPECT_THAT(unit.context, HasSubstr("struct Pair { float a; }"));
  EXPECT_THAT(unit.context, HasSubstr("return p.a / WIDTH;"));
  EXPECT_THAT(unit.context, Not(HasSubstr("UNUSED")));
  EXPECT_THAT(unit.helpers, ElementsAre("half"));
  EXPECT_THAT(unit.missing, ElementsAre("#include \"gone.cuh\""));
}

TEST(CudaUnit, IsWholeOrNotThere) {
  EXPECT_THAT(cuda_units("__global__ void f(int n) { if (n {\n"), IsEmpty());
}

}  // namespace
}  // namespace kw::harvest
