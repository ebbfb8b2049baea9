#include "dataset/synth/mined.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/core/crypto.h"
#include "base/core/files.h"

namespace kw::synth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string cuda_text =
    "#include <cstdio>\n#include \"helpers.h\"\n"
    "#define SCALE 2.0f\n"
    "__device__ float twice(float x) { return SCALE * x; }\n"
    "__device__ float unused(float x) { return x; }\n"
    "__global__ void double_kernel(float* out, const float* x, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = twice(x[i]);\n}\n"
    "void launch_double(float* out, const float* x, int n) { double_kernel<<<(n + 255) / 256, 256>>>(out, x, "
    "n); }\n";

const std::string triton_text =
    "import torch\nimport triton\nimport triton.language as tl\nfrom pack.utils import block_of, traced\n\n"
    "@triton.jit\ndef double_kernel(x, out, n, BLOCK: tl.constexpr):\n    tl.store(out, tl.load(x) * 2)\n\n\n"
    "@traced\ndef double(x):\n    out = torch.empty_like(x)\n"
    "    double_kernel[(1,)](x, out, x.numel(), BLOCK=block_of(x))\n    return out\n";

const std::string utils_text = "def block_of(x):\n    return 128\n\n\ndef traced(f):\n    return f\n";

void add(MinedFiles& files, const std::string& source, const std::string& path, const std::string& bytes,
         const std::string& licence) {
  corpus::SourceFile file;
  file.origin.name = source;
  file.origin.version = "1.0";
  file.path = path;
  file.licence = {.spdx = licence, .evidence = "LICENSE"};
  file.bytes = bytes;
  files.emplace(std::pair(source, path), std::move(file));
}

// Two planted sources: CUDA code under MIT, a Triton package under Apache-2.0.
MinedFiles planted() {
  MinedFiles files;
  add(files, "cuda-code", "csrc/double.cu", cuda_text, "MIT");
  add(files, "pack", "pack/double.py", triton_text, "Apache-2.0");
  add(files, "pack", "pack/utils.py", utils_text, "Apache-2.0");
  return files;
}

PinnedFile pin(const std::string& path, const std::string& bytes) {
  return {.path = path, .sha256 = sha256_hex(bytes)};
}

MinedPair pair_of_double() {
  MinedPair pair;
  pair.name = "double";
  pair.family = "activation";
  pair.reference =
      "import torch\n\n\ndef double(x):\n    return 2 * x\n\n\ndef get_inputs():\n    return "
      "[torch.randn(9)]";
  pair.cuda = {.from = "cuda-code",
               .files = {pin("csrc/double.cu", cuda_text)},
               .names = {"double_kernel"},
               .prelude = "",
               .entry = "def triton_kernel_wrapper(x):\n    return x"};
  pair.launchers = {"launch_double"};
  pair.triton = {.from = "pack",
                 .files = {pin("pack/double.py", triton_text), pin("pack/utils.py", utils_text)},
                 .names = {"double"},
                 .prelude = "",
                 .entry = "def triton_kernel_wrapper(x):\n    return double(x)"};
  return pair;
}

TEST(MinedDraft, HasBothSidesWithWhatTheyNeed) {
  Draft draft = mined_draft(pair_of_double(), planted());
  EXPECT_EQ(draft.reason, "");
  EXPECT_THAT(draft.cuda, HasSubstr("#define SCALE 2.0f"));
  EXPECT_THAT(draft.cuda, HasSubstr("void launch_double("));
  EXPECT_THAT(draft.cuda, HasSubstr("#include <cstdio>"));
  EXPECT_THAT(draft.cuda, Not(HasSubstr("unused")));
  EXPECT_THAT(draft.cuda, HasSubstr("#include \"helpers.h\""));
  EXPECT_THAT(draft.kernel, HasSubstr("def block_of(x):"));
  EXPECT_THAT(draft.kernel, Not(HasSubstr("from pack")));
  EXPECT_THAT(draft.kernel, testing::EndsWith("def triton_kernel_wrapper(x):\n    return double(x)\n"));
}

TEST(MinedDraft, StatesOriginsAndLicencesOfBothSides) {
  Draft draft = mined_draft(pair_of_double(), planted());
  EXPECT_EQ(draft.origin, "CUDA: cuda-code 1.0: csrc/double.cu; Triton: pack 1.0: pack/double.py");
  EXPECT_EQ(draft.cuda_licence, "MIT");
  EXPECT_EQ(draft.licence, "Apache-2.0");
  EXPECT_EQ(id_of(3, draft), "mined-double");
  auto again = draft_from(to_json(draft));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->cuda_licence, "MIT");
  EXPECT_EQ(again->cuda_source->origin.name + ": " + again->cuda_source->path, "cuda-code: csrc/double.cu");
  EXPECT_EQ(again->triton_source->path, "pack/double.py");
  EXPECT_EQ(again->cuda_candidate, draft.cuda_candidate);
}

TEST(MinedDraft, ALicenceOfSeveralFilesIsStatedOnce) {
  MinedFiles files = planted();
  files.at({"pack", "pack/utils.py"}).licence.spdx = "Apache-2.0 AND BSD-2-Clause";
  EXPECT_EQ(mined_draft(pair_of_double(), files).licence, "Apache-2.0 AND BSD-2-Clause");
}

TEST(MinedDraft, TheCandidateOfTheCudaSideHasNoHostCode) {
  Draft draft = mined_draft(pair_of_double(), planted());
  EXPECT_THAT(draft.cuda_candidate, HasSubstr("torch.cuda._compile_kernel"));
  EXPECT_THAT(draft.cuda_candidate, HasSubstr("__device__ float twice"));
  EXPECT_THAT(draft.cuda_candidate, Not(HasSubstr("launch_double")));
  EXPECT_THAT(draft.cuda_candidate, Not(HasSubstr("#include <cstdio>")));
}

TEST(MinedDraft, WithoutAnEntryTheCudaSideHasNoCandidate) {
  MinedPair pair = pair_of_double();
  pair.cuda.entry.clear();
  Draft draft = mined_draft(pair, planted());
  EXPECT_EQ(draft.cuda_candidate, "");
  EXPECT_THAT(draft.cuda, HasSubstr("double_kernel"));
}

TEST(MinedDraft, ADefinitionOfThePreludeReplacesTheSources) {
  MinedPair pair = pair_of_double();
  pair.cuda.prelude = "#define SCALE 3.0f";
  pair.triton.prelude = "def block_of(x):\n    return 64";
  Draft draft = mined_draft(pair, planted());
  EXPECT_THAT(draft.cuda_candidate, HasSubstr("SCALE 3.0f"));
  EXPECT_THAT(draft.cuda_candidate, Not(HasSubstr("SCALE 2.0f")));
  EXPECT_THAT(draft.kernel, HasSubstr("return 64"));
  EXPECT_THAT(draft.kernel, Not(HasSubstr("return 128")));
}

TEST(MinedDraft, TheCudaTextHasTheSourcesDefinitionsAndNoneOfThePrelude) {
  MinedPair pair = pair_of_double();
  pair.cuda.prelude = "#define SCALE 3.0f\n#define INFINITY __int_as_float(0x7f800000)";
  Draft draft = mined_draft(pair, planted());
  EXPECT_THAT(draft.cuda, HasSubstr("#define SCALE 2.0f"));
  EXPECT_THAT(draft.cuda, Not(HasSubstr("3.0f")));
  EXPECT_THAT(draft.cuda, Not(HasSubstr("INFINITY")));
}

TEST(MinedDraft, ThePreludeGivesWhatTheTritonCodeNeeds) {
  MinedPair pair = pair_of_double();
  pair.triton.prelude =
      "import logging\n\nWIDTH = 64\n\n\ndef block_of(x):\n    return WIDTH\n\n\ndef is_hip():\n    return "
      "False";
  Draft draft = mined_draft(pair, planted());
  EXPECT_THAT(draft.kernel, HasSubstr("\nWIDTH = 64\n\n\ndef block_of(x):\n    return WIDTH\n"));
  EXPECT_THAT(draft.kernel, testing::StartsWith("import torch\n"));
  EXPECT_THAT(draft.kernel, Not(HasSubstr("logging")));
  EXPECT_THAT(draft.kernel, Not(HasSubstr("is_hip")));
}

TEST(MinedDraft, ADecoratorThatOnlyThePreludeDefinesIsNoPartOfTheTritonCode) {
  MinedPair pair = pair_of_double();
  pair.triton.prelude = "def traced(function):\n    return function";
  Draft draft = mined_draft(pair, planted());
  EXPECT_THAT(draft.kernel, Not(HasSubstr("traced")));
  EXPECT_THAT(draft.kernel, HasSubstr("@triton.jit\ndef double_kernel"));
}

TEST(MinedDraft, AnArgumentOfADecoratorIsTakenFromThePrelude) {
  MinedPair pair = pair_of_double();
  MinedFiles files = planted();
  std::string& bytes = files.at({"pack", "pack/double.py"}).bytes;
  bytes.replace(bytes.find("@triton.jit"), 11, "@triton.autotune(**options)\n@triton.jit");
  pair.triton.files.front() = pin("pack/double.py", bytes);
  pair.triton.prelude = "options = {}";
  EXPECT_THAT(mined_draft(pair, files).kernel, HasSubstr("options = {}\n"));
  EXPECT_THAT(mined_draft(pair, files).kernel, HasSubstr("@triton.autotune(**options)\n@triton.jit"));
}

TEST(MinedDraft, TheScopeIsANamespaceAroundTheCode) {
  MinedPair pair = pair_of_double();
  pair.scope = "ops";
  EXPECT_THAT(mined_draft(pair, planted()).cuda, HasSubstr("namespace ops {\n"));
}

TEST(MinedDraft, AFileThatDiffersFromItsPinIsRefused) {
  MinedFiles files = planted();
  files.at({"cuda-code", "csrc/double.cu"}).bytes += "// changed\n";
  Draft draft = mined_draft(pair_of_double(), files);
  EXPECT_EQ(draft.kernel + draft.cuda + draft.cuda_candidate, "");
  EXPECT_EQ(draft.stage, "source");
  EXPECT_THAT(draft.reason,
              testing::StartsWith("csrc/double.cu of cuda-code is not the pinned one: its SHA-256 is "));
}

TEST(MinedDraft, AMissingSourceOrFileIsNamed) {
  MinedFiles files = planted();
  files.erase({"pack", "pack/utils.py"});
  EXPECT_EQ(mined_draft(pair_of_double(), files).reason, "pack has no file pack/utils.py");
  files.erase({"pack", "pack/double.py"});
  EXPECT_EQ(mined_draft(pair_of_double(), files).reason, "pack is not among --from");
}

TEST(MinedDraft, ANameThatNoFileDefinesIsNamed) {
  MinedPair pair = pair_of_double();
  pair.cuda.names = {"triple_kernel"};
  EXPECT_EQ(mined_draft(pair, planted()).reason, "cuda-code needs triple_kernel");
  pair = pair_of_double();
  pair.triton.files.pop_back();
  EXPECT_THAT(mined_draft(pair, planted()).reason, HasSubstr("pack needs "));
}

TEST(MinedDraft, OnlyEqualPairsAreDuplicates) {
  MinedPair other = pair_of_double();
  other.reference += "\n";
  EXPECT_EQ(mined_draft(pair_of_double(), planted()).compared, mined_draft(other, planted()).compared);
  other.triton.entry += "  # the same kernel";
  EXPECT_NE(mined_draft(pair_of_double(), planted()).compared, mined_draft(other, planted()).compared);
}

const std::string digits(64, 'a');

std::string manifest_text(const std::string& family = "norm", const std::string& more = "") {
  return "family = \"" + family + "\"\nreference = '''\ndef rms(x):\n    return x\n'''\n" + more +
         "[cuda]\nfrom = \"a\"\nfiles = [\"" + digits + "  x.cu\"]\nnames = [\"k\"]\nscope = \"ops\"\n" +
         "[triton]\nfrom = \"b\"\nfiles = [\"" + digits +
         "  y.py\"]\nnames = [\"f\"]\nentry = '''\nx = 1\n'''\n";
}

std::string problem_of(const std::string& toml) {
  auto pair = read_mined_pair("rms", toml);
  return pair ? "" : pair.error().what;
}

TEST(MinedManifest, APairHasBothSidesAndTheReference) {
  auto pair = read_mined_pair("rms", manifest_text());
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->name + " " + pair->family + " " + pair->scope, "rms norm ops");
  EXPECT_EQ(pair->cuda.files[0].path + " " + pair->cuda.files[0].sha256, "x.cu " + digits);
  EXPECT_EQ(pair->triton.names, std::vector<std::string>{"f"});
  EXPECT_EQ(pair->cuda.entry, "");
}

TEST(MinedManifest, AProblemNamesItsFileAndKey) {
  EXPECT_THAT(problem_of(manifest_text("nonsense")),
              HasSubstr("rms.toml: family \"nonsense\" is not one of"));
  EXPECT_EQ(problem_of(manifest_text("norm", "speed = 1\n")), "rms.toml: speed is no key of a mined pair");
  EXPECT_THAT(problem_of("family = \"norm\"\nreference = 'def rms(x): ...'\n"),
              HasSubstr("[cuda] is missing"));
  EXPECT_THAT(problem_of("family = "), HasSubstr("rms.toml, line 1: "));
  std::string text = manifest_text();
  text.replace(text.find(digits), digits.size(), "short");
  EXPECT_EQ(problem_of(text), "rms.toml: \"short  x.cu\" is not \"SHA256  path\"");
}

TEST(MinedManifest, AReferenceDefinesThePair) {
  auto pair = read_mined_pair("other", manifest_text());
  ASSERT_FALSE(pair);
  EXPECT_EQ(pair.error().what, "other.toml: reference does not define other");
}

TEST(MinedManifest, TheListOfTheProgramIsValidAndHasNoKernels) {
  auto pairs = read_mined_pairs("");
  ASSERT_TRUE(pairs) << pairs.error().what;
  EXPECT_GE(pairs->size(), 40U);
  for (const ManifestText& each : mined_manifest()) {
    EXPECT_THAT(std::string(each.toml), Not(HasSubstr("__global__"))) << each.name;
    EXPECT_THAT(std::string(each.toml), Not(HasSubstr("tl.store"))) << each.name;
  }
}

TEST(ReadMined, ReadsFoldersAndRefusesAnotherLicence) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "mined";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root / "manifest");
  std::filesystem::create_directories(root / "a");
  std::filesystem::create_directories(root / "b");
  const std::string cu = "// SPDX-License-Identifier: MIT\n__global__ void k(float* x) { x[0] = 1; }\n";
  const std::string py = "# SPDX-License-Identifier: MIT\nimport triton\n\n\ndef f(x):\n    return x\n";
  std::string toml = manifest_text();
  toml.replace(toml.find(digits), digits.size(), sha256_hex(cu));
  toml.replace(toml.find(digits), digits.size(), sha256_hex(py));
  ASSERT_TRUE(write_file(root / "manifest" / "rms.toml", toml));
  ASSERT_TRUE(write_file(root / "a" / "x.cu", cu));
  ASSERT_TRUE(write_file(root / "b" / "y.py", py));
  MinedSources sources{.paths = {(root / "a").string(), (root / "b").string()},
                       .manifest = (root / "manifest").string(),
                       .families = {},
                       .licences = {"MIT"}};
  auto made = read_mined(sources);
  ASSERT_TRUE(made) << made.error().what;
  ASSERT_EQ(made->drafts.size(), 1U);
  EXPECT_EQ(made->drafts[0].reason, "");
  EXPECT_EQ(made->drafts[0].cuda_licence, "MIT");
  EXPECT_EQ(made->identities.size(), 3U);
  std::filesystem::rename(root / "b", root / "b-main");
  sources.paths.back() = (root / "b-main").string();
  EXPECT_EQ(read_mined(sources)->drafts[0].reason, "");
  sources.licences = {"Apache-2.0"};
  EXPECT_EQ(read_mined(sources)->drafts[0].reason, "a is not among --from");
  sources.families = {"loss"};
  EXPECT_TRUE(read_mined(sources)->drafts.empty());
}

}  // namespace
}  // namespace kw::synth
