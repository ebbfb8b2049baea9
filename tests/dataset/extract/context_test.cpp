#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harvest_world.h"

namespace kw::harvest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string imports_with_os = "import os\nimport triton\nimport triton.language as tl\n";

TEST(Context, HoldsWhatTheTextUsesAndNothingElse) {
  corpus::Unit unit = named(
      python_units(imports_with_os + "SIZE = 4\nOTHER = 5\n@triton.jit\ndef half(x):\n    return x / SIZE\n"
                                     "@triton.jit\ndef f(x):\n    tl.store(x, half(1))\n"),
      "f");
  EXPECT_EQ(unit.context,
            "import triton\nimport triton.language as tl\n\nSIZE = 4\n\n"
            "@triton.jit\ndef half(x):\n    return x / SIZE\n");
  EXPECT_THAT(unit.helpers, ElementsAre("half"));
  EXPECT_THAT(unit.missing, IsEmpty());
}

TEST(Context, FollowsImportsThroughThePackage) {
  auto units = units_of(
      {{"pkg/__init__.py", ""},
       {"pkg/ops.py", imports_with_os + "from .tools import half as h\n@triton.jit\ndef f(x):\n    h(x)\n"},
       {"pkg/tools/__init__.py", "from pkg.other_licence import half\n"},
       {"pkg/other_licence.py", imports_with_os + "@triton.jit\ndef half(x):\n    return x / 2\n"}});
  corpus::Unit unit = named(units, "f");
  EXPECT_THAT(unit.missing, IsEmpty());
  EXPECT_THAT(unit.context, HasSubstr("def half(x):\n    return x / 2\n\nh = half\n"));
  EXPECT_THAT(unit.context_licences, ElementsAre("GPL-3.0-only"));
}

TEST(Context, StatesHowTheFileImportsWhatTheTextDefines) {
  auto units = units_of(
      {{"pkg/__init__.py", ""},
       {"pkg/ops.py", imports_with_os + "from pkg.tools import half\nfrom .tools import other\n"
                                        "@triton.jit\ndef f(x):\n    tl.store(x, half(1) + other(1))\n"},
       {"pkg/tools.py", imports_with_os + "@triton.jit\ndef half(x):\n    return x / 2\n"
                                          "@triton.jit\ndef other(x):\n    return x / 2\n"}});
  EXPECT_EQ(named(units, "f").own_imports, "from pkg.tools import half\n");
}

TEST(Context, ImportsNothingFromTheUnitsOwnFile) {
  auto units = units_of(
      {{"pkg/__init__.py", ""},
       {"pkg/tools.py", imports_with_os + "def halves():\n    return True\n\n@triton.jit\ndef half(x):\n"
                                          "    tl.store(x, 2)\n"},
       {"pkg/ops.py", imports_with_os + "from pkg.tools import half, halves\ndef launch(x):\n"
                                        "    half[(1,)](x if halves() else None)\n"}});
  EXPECT_THAT(named(units, "half").launcher.text, HasSubstr("halves()"));
  EXPECT_EQ(named(units, "half").launcher.own_imports, "");
}

TEST(Context, MakesAModuleOfWhatIsUsedOfOne) {
  auto units =
      units_of({{"pkg/__init__.py", "from . import tools\n"},
                {"pkg/ops.py",
                 imports_with_os + "from pkg import tools as t\n@triton.jit\ndef f(x):\n    t.half(x)\n"},
                {"pkg/tools.py", imports_with_os + "@triton.jit\ndef half(x):\n    return x / 2\n"}});
  corpus::Unit unit = named(units, "f");
  EXPECT_THAT(unit.missing, IsEmpty());
  EXPECT_THAT(unit.context, HasSubstr("\nt = types.ModuleType(\"t\")\nt.half = half\n"));
}

TEST(Context, OneObjectIsImportedOnce) {
  auto units =
      units_of({{"pkg/__init__.py", ""},
                {"pkg/ops.py", imports_with_os + "from .tools import half\n@triton.jit\ndef f(x):\n    "
                                                 "tl.store(x, half(x))\n"},
                {"pkg/tools.py",
                 "import triton\nfrom triton import language as tl\n@triton.jit\ndef half(x):\n    "
                 "return tl.exp(x)\n"}});
  EXPECT_THAT(named(units, "f").context,
              testing::StartsWith("import triton\nimport triton.language as tl\n\n@triton.jit"));
}

TEST(Context, AnImportThatTwoFilesMeanDifferentlyHasTwoMeanings) {
  auto units = units_of(
      {{"pkg/__init__.py", ""},
       {"pkg/ops.py", imports_with_os + "import math as m\nfrom .tools import half\n@triton.jit\ndef "
                                        "f(x):\n    tl.store(x, half(x) * m.pi)\n"},
       {"pkg/tools.py", "import triton\nimport torch as m\n@triton.jit\ndef half(x):\n    return m.pi\n"}});
  EXPECT_THAT(named(units, "f").missing, ElementsAre("m (two meanings)"));
}

TEST(Context, TakesGuardedDefinitionsWhole) {
  std::string guard =
      "try:\n    from triton.language.extra import libdevice\nexcept ImportError as e:\n    libdevice = "
      "None\n";
  corpus::Unit unit =
      named(python_units(imports_with_os + guard + "@triton.jit\ndef f(x):\n    libdevice.pow(x, 2)\n"), "f");
  EXPECT_THAT(unit.context, HasSubstr(guard));
  EXPECT_THAT(unit.missing, IsEmpty());
}

TEST(Context, HoldsWhatDecoratorsNeed) {
  corpus::Unit unit = named(
      python_units(imports_with_os + "CONFIGS = [triton.Config({'B': 2})]\n"
                                     "@triton.autotune(configs=CONFIGS, key=['n'])\n@triton.jit\ndef f(n, B: "
                                     "tl.constexpr):\n    pass\n"),
      "f");
  EXPECT_THAT(unit.context, HasSubstr("CONFIGS = [triton.Config({'B': 2})]\n"));
}

TEST(Context, DoesWithoutADecoratorThatLeadsTooFar) {
  std::string large = "TABLE = '" + std::string(20'000, 'x') + "'\ndef wrap(k):\n    return TABLE and k\n";
  corpus::Unit unit =
      named(python_units(imports_with_os + large + "@wrap\n@triton.jit\ndef f(n):\n    pass\n"), "f");
  EXPECT_THAT(unit.missing, ElementsAre("wrap: needs TABLE: context too long"));
  EXPECT_EQ(unit.context, "import triton\n");
}

TEST(Context, NamesWhatNothingDefines) {
  corpus::Unit unit =
      named(python_units(imports_with_os +
                         "from .gone import a\nimport elsewhere\n"
                         "@triton.jit\ndef f(x):\n    a(x)\n    elsewhere.b(x)\n    c(x)\n    len(x)\n"),
            "f");
  EXPECT_THAT(unit.missing, ElementsAre("a", "c", "elsewhere"));
}

TEST(Context, LeavesLocalNamesAlone) {
  corpus::Unit unit =
      named(python_units(imports_with_os + "n = 1\n@triton.jit\ndef f(n):\n    for i in range(n):\n"
                                           "        a, b = i, n\n        tl.store(a, b)\n"),
            "f");
  EXPECT_THAT(unit.context, Not(HasSubstr("n = 1")));
  EXPECT_THAT(unit.missing, IsEmpty());
}

TEST(Context, EndsWhereImportsGoInACircle) {
  auto units = units_of({{"pkg/__init__.py", ""},
                         {"pkg/a.py", "import triton\nfrom .b import x\n@triton.jit\ndef f(n):\n    x(n)\n"},
                         {"pkg/b.py", "from .a import x\n"}});
  EXPECT_THAT(named(units, "f").missing, ElementsAre("x"));
}

TEST(Context, IsTheSameEachTime) {
  std::string code = imports_with_os + "@triton.jit\ndef g(x):\n    f(x)\n@triton.jit\ndef f(x):\n    g(x)\n";
  EXPECT_EQ(named(python_units(code), "f").context, named(python_units(code), "f").context);
  EXPECT_THAT(named(python_units(code), "f").helpers, ElementsAre("g"));
}

}  // namespace
}  // namespace kw::harvest
