#include "dataset/synth/named.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/core/crypto.h"
#include "base/core/text.h"
#include "dataset/collect/collect.h"
#include "dataset/extract/code_parts.h"
#include "dataset/extract/harvest.h"
#include "dataset/extract/modules.h"
#include "dataset/licence/licence.h"
#include "dataset/synth/operations.h"

namespace kw::synth {
namespace {

// Why the file cannot be executed without its package; empty where it can.
std::string lacks(const std::string& code, const std::vector<harvest::Binding>& bindings) {
  if (!harvest::parses(code, harvest::Language::python)) return "it does not parse";
  for (const harvest::Binding& binding : bindings) {
    if (!binding.is_import || harvest::is_known_module(binding.meaning)) continue;
    const std::string module = binding.meaning.substr(0, binding.meaning.find('.'));
    return module.empty() ? "it imports from its own package"
                          : fmt::format("it imports {}", shorten(module, 80));
  }
  const auto names = harvest::undefined_names(code);
  return names.empty() ? "" : fmt::format("nothing defines {}", shorten(names.front(), 80));
}

// The verifier calls the function by this name.
std::string with_entry(std::string code, const Operation& operation) {
  if (!code.ends_with('\n')) code += '\n';
  return code + fmt::format("\n\ndef triton_kernel_wrapper({0}):\n    return {1}({0})\n",
                            operation.parameters, operation.full_name());
}

Draft draft_of(const Operation& operation, const corpus::SourceFile& file, std::uint64_t seed) {
  Draft draft;
  draft.family = operation.family;
  draft.name = operation.full_name();
  draft.reference = reference_of(operation, seed);
  draft.kernel = with_entry(file.bytes, operation);
  draft.licence = file.licence.spdx;
  draft.origin = fmt::format("{}: {}", origin_text(file.origin), file.path);
  draft.triton_source = place_of(file);
  return draft;
}

}  // namespace

std::string origin_text(const corpus::Origin& origin) {
  return origin.version.empty() ? origin.name : fmt::format("{} {}", origin.name, origin.version);
}

corpus::Place place_of(const corpus::SourceFile& file) {
  return {.origin = file.origin, .path = file.path, .block = file.block, .span = {0, file.bytes.size()}};
}

void ReadFiles::add(const corpus::SourceFile& file) {
  lines_ += fmt::format("{} {} {}\n", sha256_hex(file.bytes), file.licence.spdx, file.path);
}

// Files of a folder may change, also those of a checkout under the same commit.
std::string ReadFiles::identity(const corpus::Origin& origin) const {
  std::string text = origin_text(origin);
  if (!origin.sha256.empty()) return fmt::format("{} {}", text, origin.sha256);
  if (!origin.commit.empty()) text += " " + origin.commit;
  return fmt::format("{} files {}", text, sha256_hex(lines_));
}

std::vector<Draft> named_drafts(const corpus::SourceFile& file, std::uint64_t seed) {
  std::vector<Draft> drafts;
  if (!file.bytes.contains("@triton.jit")) return drafts;
  const std::vector<harvest::Binding> bindings = harvest::bindings(file.bytes);
  std::set<std::string> seen;
  for (const harvest::Binding& binding : bindings) {
    if (!binding.meaning.starts_with("def ") || !seen.insert(binding.name).second) continue;
    if (auto operation = operation_of(binding.name)) drafts.push_back(draft_of(*operation, file, seed));
  }
  const std::string why = drafts.empty() ? "" : lacks(file.bytes, bindings);
  for (Draft& draft : drafts) {
    if (why.empty()) continue;
    draft.kernel.clear();
    draft.stage = "rewrite";
    draft.reason = why;
  }
  return drafts;
}

Result<NamedDrafts> read_named(const NamedSources& sources) {
  NamedDrafts made;
  auto wanted = [&](const Draft& draft) {
    return sources.families.empty() ||
           std::ranges::find(sources.families, draft.family) != sources.families.end();
  };
  for (const std::string& path : sources.paths) {
    auto origin = collect::identify(path);
    if (!origin) return std::unexpected(origin.error());
    made.sources.push_back(origin_text(*origin));
    ReadFiles read_files;
    collect::Sink sink;
    sink.wants = [](const std::string& name) { return name.ends_with(".py"); };
    sink.matters = [](std::string_view bytes) { return bytes.contains("triton"); };
    sink.take = [&](const corpus::SourceFile& file) {
      read_files.add(file);
      if (!licence::allowed(file.licence.spdx, sources.licences)) return;
      for (Draft& draft : named_drafts(file, sources.seed)) {
        if (!wanted(draft)) continue;
        draft.number = made.drafts.size();
        made.drafts.push_back(std::move(draft));
      }
    };
    sink.skip = [](const collect::Skipped&) {};
    if (auto read = collect::collect(path, {}, sink); !read) return std::unexpected(read.error());
    made.identities.push_back(read_files.identity(*origin));
  }
  return made;
}

}  // namespace kw::synth
