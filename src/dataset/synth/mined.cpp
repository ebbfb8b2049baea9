#include "dataset/synth/mined.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <expected>
#include <ranges>
#include <set>
#include <utility>

#include "base/core/crypto.h"
#include "base/core/text.h"
#include "dataset/collect/collect.h"
#include "dataset/extract/code_parts.h"
#include "dataset/extract/harvest.h"
#include "dataset/extract/stand_alone.h"
#include "dataset/licence/expression.h"
#include "dataset/licence/licence.h"

namespace kw::synth {
namespace {

using harvest::Language;
using Parsed = std::vector<std::shared_ptr<const harvest::ParsedFile>>;

// A side that cannot be taken, with the reason.
template <class T = void>
using OrReason = std::expected<T, std::string>;

constexpr const char* entry_point = "triton_kernel_wrapper";

bool has_source(const MinedFiles& files, const std::string& name) {
  return std::ranges::any_of(files, [&](const auto& each) { return each.first.first == name; });
}

OrReason<const corpus::SourceFile*> pinned_file(const MinedSide& side, const PinnedFile& pin,
                                                const MinedFiles& files) {
  auto found = files.find({side.from, pin.path});
  if (found == files.end())
    return std::unexpected(has_source(files, side.from)
                               ? fmt::format("{} has no file {}", side.from, pin.path)
                               : fmt::format("{} is not among --from", side.from));
  const std::string sha256 = sha256_hex(found->second.bytes);
  if (sha256 != pin.sha256)
    return std::unexpected(fmt::format("{} of {} is not the pinned one: its SHA-256 is {}, the pin is {}",
                                       pin.path, side.from, sha256.substr(0, 12), pin.sha256.substr(0, 12)));
  return &found->second;
}

OrReason<Parsed> parsed_files(const MinedSide& side, const MinedFiles& files) {
  Parsed parsed;
  for (const PinnedFile& pin : side.files) {
    auto file = pinned_file(side, pin, files);
    if (!file) return std::unexpected(file.error());
    auto outcome = harvest::parse(**file, harvest::language_of(pin.path), {});
    if (!outcome.file) return std::unexpected(fmt::format("{} {}", pin.path, outcome.reason));
    parsed.push_back(std::move(outcome.file));
  }
  return parsed;
}

// The names that the prelude defines.
std::vector<std::string> given_by(const std::string& prelude, Language language) {
  std::vector<std::string> names;
  // The grammar ends a macro at the end of its line.
  for (const harvest::CodePart& part : harvest::code_parts(prelude + "\n", language).parts)
    names.insert(names.end(), part.defines.begin(), part.defines.end());
  return names;
}

OrReason<harvest::StandAlone> taken(const MinedSide& side, const std::vector<std::string>& names,
                                    const Parsed& files, Language language) {
  auto got = harvest::stand_alone(files, names, given_by(side.prelude, language));
  if (got.missing.empty()) return got;
  return std::unexpected(
      fmt::format("{} needs {}", side.from, shorten(fmt::format("{}", fmt::join(got.missing, ", ")), 200)));
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view part : parts) {
    part = trim(part);
    if (!part.empty()) text += fmt::format("{}{}\n", text.empty() ? "" : "\n\n", part);
  }
  return text;
}

using Names = std::set<std::string>;

std::string text_of(const std::string& code, const harvest::CodePart& part) {
  return code.substr(part.span.begin, part.span.end - part.span.begin);
}

// The statements at module level that define a wanted name, or one that these need.
std::vector<harvest::CodePart> needed_parts(const std::string& code, Names wanted) {
  auto parts = harvest::code_parts(code, Language::python).parts;
  auto is_wanted = [&](const harvest::CodePart& part) {
    return part.defines.empty() ||
           std::ranges::any_of(part.defines, [&](const std::string& name) { return wanted.contains(name); });
  };
  std::vector<bool> kept(parts.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (kept[i] || !is_wanted(parts[i])) continue;
      kept[i] = changed = true;
      wanted.insert(parts[i].uses.begin(), parts[i].uses.end());
      for (const harvest::DecoratorPart& each : parts[i].decorators)
        wanted.insert(each.uses.begin(), each.uses.end());
    }
  }
  std::vector<harvest::CodePart> needed;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (kept[i]) needed.push_back(std::move(parts[i]));
  return needed;
}

// Whether a decorator is one of these functions: "@traced", "@dispatch(1)".
bool is_one_of(std::string_view decorator, const Names& functions) {
  decorator = trim(decorator);
  if (decorator.starts_with('@')) decorator = trim(decorator.substr(1));
  return functions.contains(std::string(trim(decorator.substr(0, decorator.find_first_of("(. \n#")))));
}

// What the code needs of the prelude. A function of it that only decorates stands for one of a package, does
// nothing, and is no part of the code.
std::string needed_prelude(const std::string& prelude, const std::string& code) {
  Names functions;
  for (const harvest::CodePart& part : harvest::code_parts(prelude, Language::python).parts)
    if (!part.is_import) functions.insert(part.defines.begin(), part.defines.end());
  Names used;
  for (const harvest::CodePart& part : harvest::code_parts(code, Language::python).parts) {
    used.insert(part.uses.begin(), part.uses.end());
    for (const harvest::DecoratorPart& each : part.decorators)
      if (!is_one_of(code.substr(each.span.begin, each.span.end - each.span.begin), functions))
        used.insert(each.uses.begin(), each.uses.end());
  }
  std::string imports;
  std::string rest;
  for (const harvest::CodePart& part : needed_parts(prelude, used)) {
    const std::string text = text_of(prelude, part);
    const bool is_block = text.contains('\n') && !rest.empty();
    (part.is_import ? imports : rest) += fmt::format("{}{}\n", is_block ? "\n\n" : "", trim(text));
  }
  return joined({imports, rest});
}

// Where the imports at the head of the code end.
std::size_t end_of_imports(const std::string& code) {
  std::size_t end = 0;
  for (const harvest::CodePart& part : harvest::code_parts(code, Language::python).parts) {
    if (!part.is_import) break;
    end = part.span.end;
  }
  return end;
}

// The code without statements that the function does not need.
std::string reached_from(const std::string& function, const std::string& code) {
  std::string text;
  std::size_t end = 0;
  const auto needed = needed_parts(code, {function});
  for (const harvest::CodePart& part : harvest::code_parts(code, Language::python).parts) {
    const bool is_needed = std::ranges::any_of(
        needed, [&](const harvest::CodePart& each) { return each.span.begin == part.span.begin; });
    if (is_needed) text += code.substr(end, part.span.end - end);
    end = part.span.end;
  }
  return text + code.substr(end);
}

std::string in_scope(const std::string& scope, const std::string& code) {
  return scope.empty() ? code
                       : fmt::format("namespace {} {{\n\n{}\n}}  // namespace {}\n", scope, code, scope);
}

// The module that compiles kernels of `code` by name and launches them.
std::string cuda_module(const std::string& code, const std::string& entry) {
  return fmt::format(
      "import struct\n\nimport torch\nfrom torch.utils import cpp_extension\n\nSOURCE = r\"\"\"\n{}\"\"\"\n"
      "# NVRTC finds the headers of CUDA in the packages that PyTorch needs.\n"
      "HEADERS = f\"{{torch.__path__[0]}}/../nvidia/cu{{torch.version.cuda.split('.')[0]}}/include\"\n"
      "cpp_extension.CUDA_HOME = cpp_extension.CUDA_HOME or \"/usr/local/cuda\"\n"
      "kernels = {{}}\n\n\ndef kernel(name):\n    if name not in kernels:\n"
      "        kernels[name] = torch.cuda._compile_kernel(SOURCE, name, cuda_include_dirs=[HEADERS])\n"
      "    return kernels[name]\n\n\n"
      "# PyTorch passes integers as int and floats as double: these have the bits of the other types.\n"
      "def f32(value):\n    return struct.unpack(\"i\", struct.pack(\"f\", value))[0]\n\n\n"
      "def i64(value):\n    return struct.unpack(\"d\", struct.pack(\"q\", value))[0]\n\n\n{}",
      code, joined({entry}));
}

// The source's own text, for readers: the prelude serves NVRTC alone. What no file of the manifest defines is
// open under the includes, as it is in the source.
std::string shown_cuda(const MinedPair& pair, const std::vector<std::string>& names, const Parsed& files) {
  harvest::StandAlone own = harvest::stand_alone(files, names, {});
  std::erase_if(own.includes, [](const std::string& line) { return line.contains("<hip"); });
  return joined({fmt::format("{}", fmt::join(own.includes, "\n")), in_scope(pair.scope, own.text)});
}

OrReason<> take_cuda(Draft& draft, const MinedPair& pair, const MinedFiles& files) {
  auto parsed = parsed_files(pair.cuda, files);
  if (!parsed) return std::unexpected(parsed.error());
  auto device = taken(pair.cuda, pair.cuda.names, *parsed, Language::cuda);
  if (!device) return std::unexpected(device.error());
  std::vector<std::string> names = pair.cuda.names;
  names.insert(names.end(), pair.launchers.begin(), pair.launchers.end());
  auto all = taken(pair.cuda, names, *parsed, Language::cuda);
  if (!all) return std::unexpected(all.error());
  draft.cuda = shown_cuda(pair, names, *parsed);
  if (!pair.cuda.entry.empty())
    draft.cuda_candidate =
        cuda_module(joined({pair.cuda.prelude, in_scope(pair.scope, device->text)}), pair.cuda.entry);
  return {};
}

OrReason<> take_triton(Draft& draft, const MinedPair& pair, const MinedFiles& files) {
  auto parsed = parsed_files(pair.triton, files);
  if (!parsed) return std::unexpected(parsed.error());
  auto got = taken(pair.triton, pair.triton.names, *parsed, Language::python);
  if (!got) return std::unexpected(got.error());
  const std::string code = joined({got->text, pair.triton.entry});
  const std::size_t head = end_of_imports(code);
  const std::string prelude = needed_prelude(pair.triton.prelude, code);
  const std::string gap = prelude.starts_with("import ") ? "\n" : "\n\n\n";
  const std::string all = joined({std::string(trim(std::string_view(code).substr(0, head))) + gap + prelude,
                                  std::string_view(code).substr(head)});
  const std::string kernel = joined({reached_from(entry_point, harvest::without_unknown_decorators(all))});
  const auto lacking = harvest::undefined_names(kernel);
  if (!lacking.empty()) return std::unexpected(fmt::format("nothing defines {}", fmt::join(lacking, ", ")));
  draft.kernel = kernel;
  return {};
}

// Pairs of a manifest are chosen by hand, and much of their code may be common helpers: only equal ones are
// duplicates. A hash as words has no common shingle with another one.
std::string spread(const std::string& hash) {
  std::string words;
  for (std::size_t at = 0; at < hash.size(); at += 2) words += "x" + hash.substr(at, 2) + " ";
  return words;
}

// "liger-kernel 0.8.5", "llm.c f1e2ace".
std::string dated(const corpus::Origin& origin) {
  constexpr std::size_t digits = 7;
  return origin.commit.empty() ? origin_text(origin)
                               : fmt::format("{} {}", origin.name, origin.commit.substr(0, digits));
}

// The side's main file, as "liger-kernel 0.8.5: liger_kernel/ops/swiglu.py" too, and the licences of its
// files.
std::string take_origin(const MinedSide& side, const MinedFiles& files, std::string& licence,
                        std::optional<corpus::Place>& source) {
  std::set<std::string> licences;
  for (const PinnedFile& pin : side.files)
    if (auto file = files.find({side.from, pin.path}); file != files.end())
      licences.insert(file->second.licence.spdx);
  licence = licence::both({licences.begin(), licences.end()});
  const auto main = files.find({side.from, side.files.front().path});
  if (main == files.end()) return {};
  source = place_of(main->second);
  return fmt::format("{}: {}", dated(main->second.origin), side.files.front().path);
}

}  // namespace

Draft mined_draft(const MinedPair& pair, const MinedFiles& files) {
  Draft draft;
  draft.family = pair.family;
  draft.name = pair.name;
  draft.reference = joined({pair.reference});
  const std::string cuda_origin = take_origin(pair.cuda, files, draft.cuda_licence, draft.cuda_source);
  const std::string triton_origin = take_origin(pair.triton, files, draft.licence, draft.triton_source);
  draft.origin = fmt::format("CUDA: {}; Triton: {}", cuda_origin, triton_origin);
  auto done = take_cuda(draft, pair, files);
  if (done) done = take_triton(draft, pair, files);
  if (done) {
    draft.compared = spread(sha256_hex(draft.reference + draft.cuda + draft.kernel));
    return draft;
  }
  draft.kernel.clear();
  draft.cuda.clear();
  draft.cuda_candidate.clear();
  draft.stage = "source";
  draft.reason = done.error();
  return draft;
}

namespace {

// The SHA-256 of the pinned files, by the source's name and the path.
using Pins = std::map<std::pair<std::string, std::string>, std::string>;

Pins pins_of(const std::vector<MinedPair>& pairs) {
  Pins pins;
  for (const MinedPair& pair : pairs)
    for (const MinedSide* side : {&pair.cuda, &pair.triton})
      for (const PinnedFile& pin : side->files) pins.emplace(std::pair(side->from, pin.path), pin.sha256);
  return pins;
}

// A folder may have another name than its repository: a file of the pinned content is the pinned one.
void take_file(const corpus::SourceFile& file, const Pins& pins, MinedFiles& files) {
  for (const auto& [key, sha256] : pins) {
    if (key.second != file.path) continue;
    if (sha256_hex(file.bytes) == sha256)
      files.insert_or_assign(key, file);
    else if (key.first == file.origin.name)
      files.emplace(key, file);
  }
}

Result<> read_source(const std::string& path, const MinedSources& sources, const Pins& pins,
                     NamedDrafts& made, MinedFiles& files) {
  auto origin = collect::identify(path);
  if (!origin) return std::unexpected(origin.error());
  made.sources.push_back(origin_text(*origin));
  ReadFiles read_files;
  collect::Sink sink;
  sink.wants = [&](const std::string& name) {
    return std::ranges::any_of(pins, [&](const auto& each) { return name.ends_with(each.first.second); });
  };
  sink.matters = [](std::string_view) { return true; };
  sink.take = [&](const corpus::SourceFile& file) {
    read_files.add(file);
    if (licence::allowed(file.licence.spdx, sources.licences)) take_file(file, pins, files);
  };
  sink.skip = [](const collect::Skipped&) {};
  if (auto read = collect::collect(path, {}, sink); !read) return std::unexpected(read.error());
  made.identities.push_back(read_files.identity(*origin));
  return {};
}

// Equal manifests have equal hashes.
std::string manifest_hash(const std::vector<MinedPair>& pairs) {
  std::string all;
  for (const MinedPair& pair : pairs) {
    all += fmt::format("{}\n{}\n{}\n{}\n{}\n", pair.name, pair.family, pair.reference, pair.scope,
                       fmt::join(pair.launchers, "\n"));
    for (const MinedSide* side : {&pair.cuda, &pair.triton}) {
      all += fmt::format("{}\n{}\n{}\n{}\n", side->from, fmt::join(side->names, "\n"), side->prelude,
                         side->entry);
      for (const PinnedFile& pin : side->files) all += fmt::format("{} {}\n", pin.sha256, pin.path);
    }
  }
  return sha256_hex(all);
}

}  // namespace

Result<NamedDrafts> read_mined(const MinedSources& sources) {
  auto pairs = read_mined_pairs(sources.manifest);
  if (!pairs) return std::unexpected(pairs.error());
  std::erase_if(*pairs, [&](const MinedPair& pair) {
    return !sources.families.empty() &&
           std::ranges::find(sources.families, pair.family) == sources.families.end();
  });
  NamedDrafts made;
  made.identities.push_back(fmt::format("manifest {}", manifest_hash(*pairs)));
  const Pins pins = pins_of(*pairs);
  MinedFiles files;
  for (const std::string& path : sources.paths)
    if (auto read = read_source(path, sources, pins, made, files); !read)
      return std::unexpected(read.error());
  for (const MinedPair& pair : *pairs) {
    made.drafts.push_back(mined_draft(pair, files));
    made.drafts.back().number = made.drafts.size() - 1;
  }
  return made;
}

}  // namespace kw::synth
