#include "dataset/pairs/pairs.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "base/rows/rows.h"
#include "code/similarity/code_tokens.h"
#include "dataset/extract/code_parts.h"
#include "dataset/licence/licence.h"
#include "dataset/pairs/code_labels.h"
#include "dataset/pairs/code_text.h"
#include "dataset/pairs/difficulty.h"
#include "dataset/pairs/refusals.h"
#include "dataset/pairs/row_code.h"
#include "dataset/units/code_words.h"
#include "dataset/units/row.h"

namespace kw::pairs {
namespace {

using harvest::Language;

// The unit's text without the indentation that it has in the file; as it is where it is no function.
std::string flat_text(const corpus::Unit& unit) {
  if (auto kernel = kernel_code(unit)) return std::move(kernel->text);
  return unit.text;
}

// Why Python cannot run as it is; empty where it can.
std::string lacks(std::string_view code) {
  if (!harvest::parses(code, Language::python)) return std::string(does_not_parse);
  // Code that looks for its own package, or for files beside it.
  const std::string bare = corpus::without_words(code, corpus::Syntax::python);
  for (std::string_view path : {"importlib.import_module", "__file__"})
    if (holds_word(bare, path)) return fmt::format("it uses {}", path);
  const auto names = harvest::undefined_names(code);
  if (!names.empty()) return fmt::format("nothing defines {}", shorten(names.front(), 80));
  const std::string name = name_of_two_things(code);
  return name.empty() ? "" : fmt::format("{} has two meanings", shorten(name, 80));
}

// The kernel, its launcher and all that the two need.
std::expected<std::string, std::string> program_of(const corpus::Unit& unit) {
  if (unit.launcher.text.empty()) return std::unexpected("no function at module level launches the kernel");
  std::string code = joined({unit.launcher.context, flat_text(unit), unit.launcher.text});
  if (!code.ends_with('\n')) code += '\n';
  for (const corpus::Span& span : harvest::unknown_decorators(code))
    if (corpus::sets_arguments(trim(std::string_view(code).substr(span.begin, span.end - span.begin))))
      return std::unexpected("the rewrite: nothing defines the decorator that sets its kernel's arguments");
  code = harvest::without_unknown_decorators(code);
  if (std::string why = lacks(code); !why.empty()) return std::unexpected("the rewrite: " + why);
  return code;
}

std::expected<std::string, std::string> reference_of(const corpus::Unit& unit) {
  std::string code = joined({unit.context, flat_text(unit)});
  if (unit.kind == corpus::UnitKind::torch) {
    code = harvest::without_unknown_decorators(code);
    if (std::string why = lacks(code); !why.empty()) return std::unexpected("the reference: " + why);
  } else if (!harvest::parses(code, Language::cuda)) {
    return std::unexpected("the reference: " + std::string(does_not_parse));
  }
  return code;
}

// Why the two do not compute the same for the same arguments; empty where no reason is seen.
std::string difference(const corpus::Unit& reference, const corpus::Unit& rewrite) {
  const std::string own = flat_text(reference);
  if (std::string why = call_difference(own, rewrite.launcher.text); !why.empty()) return why;
  if (clamps_alone(own, rewrite.text)) return "it limits values, and the reference does not";
  // A fallback. Kernel or launcher may have the reference's name.
  const std::string launcher = corpus::without_words(rewrite.launcher.text, corpus::Syntax::python);
  const bool same_name =
      rewrite.name == reference.name || launcher.contains(fmt::format("def {}(", reference.name));
  if (!same_name && holds_word(launcher, reference.name)) return "it calls the reference";
  return {};
}

}  // namespace

std::string cuda_prompt(std::string_view code) {
  return "Rewrite this CUDA kernel in Triton.\n\n" + fenced(code, "cuda");
}

std::string torch_prompt(std::string_view code) {
  return "Rewrite this PyTorch code with a Triton kernel.\n\n" + fenced(code, "python");
}

bool parses(const corpus::Row& pair) {
  return harvest::parses(pair.completion, Language::python);
}

std::expected<corpus::Row, std::string> pair_row(const corpus::Unit& from, const corpus::Unit& to,
                                                 const Match& match) {
  auto reference = reference_of(from);
  if (!reference) return std::unexpected(reference.error());
  auto program = program_of(to);
  if (!program) return std::unexpected(program.error());
  bool cuda = from.kind != corpus::UnitKind::torch;
  if (const std::string name = cuda ? "" : name_of_two_things(*reference, *program); !name.empty())
    return std::unexpected(fmt::format("{} means another thing on the other side", shorten(name, 80)));
  if (const std::string why = cuda ? "" : difference(from, to); !why.empty())
    return std::unexpected("the rewrite: " + why);
  corpus::Row row;
  row.kind = cuda ? corpus::RowKind::cu2triton : corpus::RowKind::torch2triton;
  row.prompt = cuda ? cuda_prompt(*reference) : torch_prompt(*reference);
  row.completion = std::move(*program);
  row.id = corpus::row_key(row.prompt, row.completion);
  row.renamed_sha1 = near::renamed_sha1(row.prompt + row.completion);
  row.unit = from.id;
  row.source = from.source;
  row.licence = from.licence;
  row.pair = match.evidence;
  row.difficulty = difficulty_of(row.completion, Language::python);
  return row;
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = std::size_t{4} << 20;

// Licences and source of a pair, from NAME.json or pairs.csv.
struct Note {
  std::string licence;
  std::string triton_licence;
  std::string source;
  std::string said_in;  // the file's name
};

using Notes = std::map<std::string, Note>;

Result<std::vector<fs::path>> cuda_files(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".cu" && it->is_regular_file(error)) files.push_back(it->path());
  if (error)
    return fail(fmt::format("cannot list {}: {}", folder, error.message()),
                "name a folder with NAME.cu and NAME.py in it");
  if (files.empty())
    return fail(fmt::format("{} holds no pair: there is no .cu file in it", folder),
                "put NAME.cu beside NAME.py, or NAME_cuda.cu beside NAME_triton.py");
  std::ranges::sort(files);
  return files;
}

std::string name_of(const fs::path& cuda) {
  std::string stem = cuda.stem().string();
  return stem.ends_with("_cuda") ? stem.substr(0, stem.size() - 5) : stem;
}

Result<fs::path> triton_file(const fs::path& cuda) {
  std::string stem = cuda.stem().string();
  std::string wanted = stem.ends_with("_cuda") ? name_of(cuda) + "_triton.py" : stem + ".py";
  fs::path path = cuda.parent_path() / wanted;
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  return fail(fmt::format("{} has no rewrite: there is no {} beside it", cuda.string(), wanted),
              "add it, or move the .cu file elsewhere");
}

Result<Notes> notes_of_table(const fs::path& path) {
  Notes notes;
  std::error_code error;
  if (!fs::exists(path, error)) return notes;
  table::ReadOptions options;
  options.prompt = "name";
  options.completion = "licence";
  auto rows = table::open_rows(path.string(), options);
  if (!rows) return std::unexpected(rows.error());
  while (true) {
    auto row = (*rows)->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return notes;
    const auto* read = std::get_if<table::TextRow>(&**row);
    if (read == nullptr)
      return fail(fmt::format("{} has a line that cannot be read", path.string()),
                  "give each line a name and a licence");
    notes[read->prompt] = {.licence = read->completion,
                           .triton_licence = {},
                           .source = string_at(read->rest, "source").value_or(""),
                           .said_in = path.filename().string()};
  }
}

Result<std::optional<Note>> note_of_file(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  auto text = read_text_file(path, most_bytes);
  if (!text) return std::unexpected(text.error());
  auto value = parse_json(*text);
  if (!value) return fail(fmt::format("{}: {}", path.string(), value.error().what), value.error().remedy);
  if (!value->is_object())
    return fail(fmt::format("{} is no JSON object", path.string()), R"(write {"licence": "MIT"})");
  const auto& object = value->as_object();
  return Note{.licence = string_at(object, "licence").value_or(""),
              .triton_licence = string_at(object, "triton_licence").value_or(""),
              .source = string_at(object, "source").value_or(""),
              .said_in = path.filename().string()};
}

corpus::Licence licence_of(const std::string& stated, const std::string& said_in, std::string_view bytes) {
  if (!stated.empty()) return {.spdx = stated, .evidence = said_in};
  return licence::from_tag(bytes).value_or(corpus::Licence{});
}

corpus::Place place_of(const fs::path& file, const std::string& bytes, const Note& note) {
  corpus::Place place;
  place.origin.kind = corpus::OriginKind::pairs;
  place.origin.name = fs::path(file.parent_path()).filename().string();
  place.origin.url = note.source;
  place.path = file.filename().string();
  place.span = {0, bytes.size()};
  return place;
}

Result<corpus::Row> hand_made_row(const fs::path& cuda, const fs::path& triton, const Note& note) {
  auto from = read_text_file(cuda, most_bytes);
  if (!from) return std::unexpected(from.error());
  auto to = read_text_file(triton, most_bytes);
  if (!to) return std::unexpected(to.error());
  corpus::Row row;
  row.kind = corpus::RowKind::cu2triton;
  row.prompt = cuda_prompt(*from);
  row.completion = *to;
  row.labels = labels_of_code(row.completion);
  row.difficulty = difficulty_of(row.completion, Language::python);
  row.difficulty.autotune = row.labels.autotune;
  row.id = corpus::row_key(row.prompt, row.completion);
  row.renamed_sha1 = near::renamed_sha1(row.prompt + row.completion);
  row.unit = row.id;
  row.source = place_of(cuda, *from, note);
  row.licence = licence_of(note.licence, note.said_in, *from);
  const std::string& of_triton = note.triton_licence.empty() ? note.licence : note.triton_licence;
  row.pair = corpus::PairEvidence{.confidence = 1,
                                  .reasons = {"made by hand"},
                                  .other = place_of(triton, *to, note),
                                  .other_licence = licence_of(of_triton, note.said_in, *to)};
  return row;
}

}  // namespace

Result<std::vector<corpus::Row>> hand_made_pairs(const std::string& folder) {
  auto whole = fs::path(folder).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();  // "pairs/" means "pairs"
  auto files = cuda_files(whole.string());
  if (!files) return std::unexpected(files.error());
  auto notes = notes_of_table(whole / "pairs.csv");
  if (!notes) return std::unexpected(notes.error());
  std::vector<corpus::Row> rows;
  for (const fs::path& cuda : *files) {
    auto triton = triton_file(cuda);
    if (!triton) return std::unexpected(triton.error());
    auto note = note_of_file(whole / (name_of(cuda) + ".json"));
    if (!note) return std::unexpected(note.error());
    auto row = hand_made_row(cuda, *triton, note->value_or((*notes)[name_of(cuda)]));
    if (!row) return std::unexpected(row.error());
    rows.push_back(std::move(*row));
  }
  return rows;
}

}  // namespace kw::pairs
