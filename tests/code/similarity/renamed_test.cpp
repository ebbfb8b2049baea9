#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "code/similarity/code_tokens.h"

namespace kw::near {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  for (const Token& token : code_tokens(text))
    found.push_back((token.is_own_name ? "*" : "") +
                    std::string(text.substr(token.begin, token.end - token.begin)));
  return found;
}

void same(std::string_view a, std::string_view b) {
  EXPECT_EQ(renamed_sha1(a), renamed_sha1(b)) << a << "\n----\n" << b;
}

void differ(std::string_view a, std::string_view b) {
  EXPECT_NE(renamed_sha1(a), renamed_sha1(b)) << a << "\n----\n" << b;
}

constexpr std::string_view kernel = R"(@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Adds two vectors."""
    pid = tl.program_id(axis=0)  # which program
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, x + tl.load(y_ptr + offs, mask=mask), mask=mask)
)";

TEST(CodeTokens, MarkNamesThatTheAuthorChose) {
  using testing::ElementsAre;
  EXPECT_THAT(words("y = tl.load(p, mask=None)"),
              ElementsAre("*y", "=", "tl", ".", "load", "(", "*p", ",", "mask", "=", "None", ")"));
  EXPECT_THAT(words("self.scale = x.shape"), ElementsAre("self", ".", "*scale", "=", "*x", ".", "shape"));
  EXPECT_THAT(words("int i = blockIdx.x;"), ElementsAre("int", "*i", "=", "blockIdx", ".", "x", ";"));
  EXPECT_THAT(words("std::max(p->n, this->m);"), ElementsAre("std", ":", ":", "max", "(", "*p", "-", ">", "n",
                                                             ",", "this", "-", ">", "*m", ")", ";"));
  EXPECT_THAT(words("#include <cuda_fp16.h>\nint a;"),
              ElementsAre("#", "include", "<", "cuda_fp16", ".", "h", ">", "int", "*a", ";"));
}

TEST(Renamed, CopyOfAKernelIsTheSame) {
  same(kernel, R"(@triton.jit
def k(a,b,c,size,B: tl.constexpr):
    i = tl.program_id(axis=0)
    o = i*B + \
        tl.arange(0, B)
    m = o < size   # in range
    v = tl.load(a + o, mask=m,
                other=0.0,)

    tl.store(c + o, v + tl.load(b + o, mask=m), mask=m)
)");
}

TEST(Renamed, OtherOperationIsAnother) {
  std::string other(kernel);
  other.replace(other.find("x + tl"), 3, "x - ");
  differ(kernel, other);
}

TEST(Renamed, SwappedNamesAreAnother) {
  differ("z = x - y + x", "z = x - y + y");
  differ("f(a, b)\nreturn a", "f(a, b)\nreturn b");
}

TEST(Renamed, QuotesAndDocstringsDoNotMatter) {
  same("x = 'a'", "x = \"a\"");
  same("x = 'say \"a\"'", "x = \"say \\\"a\\\"\"");
  same("def f():\n  'what'\n  return 1\n", "def f():\n  return 1\n");
  differ("x = 'a'", "x = 'b'");
  differ("x = b'a'", "x = 'a'");
  differ("x = ('a')", "x = ()");
}

TEST(Renamed, ArgumentsOfOwnFunctionsMayBeRenamedApartFromVariables) {
  same("add[grid](x, n=n, BLOCK=64)", "add[g](y, count=size, B=64)");
  same("f(n=n)", "f(m=n)");
  differ("tl.load(p, mask=m)", "tl.load(p, other=m)");
  same("def f(n=1): return n", "def g(m=1): return m");
  differ("f(a == b)", "f(a == a)");
}

TEST(Renamed, CalledFunctionsOfOthersKeepTheirNames) {
  differ("def f(x):\n  return row_max(x)\n", "def f(x):\n  return row_min(x)\n");
  differ("def f(x):\n  add[grid](x)\n", "def f(x):\n  sub[grid](x)\n");
  differ("def f(x):\n  return tl.reduce(x, 0, larger)\n", "def f(x):\n  return tl.reduce(x, 0, smaller)\n");
  differ("def f(x):\n  return tl.associative_scan(x, 0, combine_fn=larger)\n",
         "def f(x):\n  return tl.associative_scan(x, 0, combine_fn=smaller)\n");
  differ("__global__ void f(float* x) { x[0] = row_max(x); }\n",
         "__global__ void f(float* x) { x[0] = row_min(x); }\n");
}

TEST(Renamed, CalledFunctionsOfTheTextMayBeRenamed) {
  same("def f(x, act):\n  return act(x)\n", "def g(y, fn):\n  return fn(y)\n");
  same("def f(x):\n  return x\ndef g(x):\n  return f(x)\n",
       "def a(x):\n  return x\ndef b(x):\n  return a(x)\n");
  same("h = lambda x: x\ny = h(1)\n", "k = lambda z: z\nw = k(1)\n");
  same("def f(x):\n  return tl.reduce(x, 0, combine_fn=max)\n",
       "def g(y):\n  return tl.reduce(y, 0, combine_fn=max)\n");
  same("static float f(float x) { return x; }\n__device__ float* g(float y) { return f(y); }\n",
       "static float a(float x) { return x; }\n__device__ float* b(float y) { return a(y); }\n");
  same("__global__ __launch_bounds__(256) void f(int n) { run(n); }\n",
       "__global__ __launch_bounds__(256) void g(int m) { run(m); }\n");
}

TEST(Renamed, MembersOfSelfAndLocalsAreTwoNames) {
  same("self.w = w + 1", "self.w = v + 1");
  same("self.w = w + 1", "self.u = w + 1");
  differ("self.a = x\nself.b = y", "self.a = x\nself.a = y");
}

TEST(Renamed, CommentsOfCudaDoNotMatter) {
  same("__global__ void f(float* x) { x[0] = 1.f; /* first; */ } // end;\n",
       "__global__ void g(float *y)\n{\n  y[0] = 1.f;\n}\n");
  differ("__global__ void f(float* x) { x[0] = expf(x[1]); }\n",
         "__global__ void f(float* x) { x[0] = logf(x[1]); }\n");
  differ("void f() { char c = 'a'; }\n", "void f() { auto c = \"a\"; }\n");
}

TEST(Renamed, FloorDivisionOfPythonIsNoComment) {
  differ("def f(a, b):\n  return a // b\n", "def f(a, b):\n  return a // c\n");
}

TEST(Language, IsToldByTheLines) {
  EXPECT_EQ(language_of("#include <x.h>\n"), Language::cpp);
  EXPECT_EQ(language_of(kernel), Language::python);
  EXPECT_EQ(language_of("# note\nx = 1\n"), Language::python);
  EXPECT_EQ(language_of("__global__ void f(int n) {\n  return;\n}\n"), Language::cpp);
  EXPECT_EQ(language_of("import torch\nsource = '''\nint a;\nint b;\nint c;\n'''\n"), Language::python);
}

TEST(CodeTokens, OfWhateverBytesStayInsideTheText) {
  std::mt19937 random(7);
  constexpr std::string_view pieces = "\"'\\#/*\n\r rRfF8(){}[],.;:<>-0x1e+_a\0\xff";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::size_t size = random() % 40; text.size() < size;) text += pieces[random() % pieces.size()];
    if (i % 2) text = "#include\n" + text;
    std::uint32_t end = 0;
    for (const Token& token : code_tokens(text)) {
      ASSERT_LE(end, token.begin);
      ASSERT_LT(token.begin, token.end);
      ASSERT_LE(token.end, text.size());
      end = token.end;
    }
    renamed_sha1(text);
  }
}

TEST(CodeTokens, OfAMillionBracketsOrQuotesAreQuick) {
  EXPECT_EQ(code_tokens(std::string(1 << 20, '(')).size(), 1 << 20);
  EXPECT_GT(code_tokens(std::string(1 << 20, '"')).size(), 0);
  std::string raw = "#include\n";
  for (int i = 0; i < 100000; ++i) raw += "R\"(";
  EXPECT_GT(code_tokens(raw).size(), 0);
  std::string open_raw = "#include\n";
  for (int i = 0; i < 100000; ++i) open_raw += "R\"";
  EXPECT_GT(code_tokens(open_raw).size(), 0);
  std::string opened = "#include\n";
  for (int i = 0; i < 100000; ++i) opened += "/*/ \n";
  EXPECT_GT(code_tokens(opened).size(), 0);
}

}  // namespace
}  // namespace kw::near
