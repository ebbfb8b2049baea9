#include "dataset/leakage/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/crypto.h"
#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "base/rows/formats.h"
#include "base/rows/rows.h"
#include "base/rows/rows_indexed.h"
#include "dataset/leakage/leak.h"

namespace kw::leak {
namespace {

namespace json = boost::json;

constexpr std::string_view code_columns[] = {
    "code",      "python_code",  "triton_code",  "cuda_code",   "torch_code", "reference_code",
    "reference", "ref_arch_src", "pytorch_code", "kernel_code", "solution",   "canonical_solution",
    "output",    "content",      "text",         "source",      "instruction"};
constexpr std::string_view name_columns[] = {"id", "uuid", "task_id", "file", "name", "problem_name"};

using Add = std::function<void(const std::string&, std::string)>;

std::string name_of(const Row& row) {
  for (std::string_view column : name_columns)
    if (auto name = text_at(row.fields, column); name && !name->empty()) return *name;
  return fmt::format("row {}", row.number);
}

// The text of a string or of a list of messages; empty for other values.
std::string text_in(const json::object& fields, std::string_view column) {
  const json::value* value = fields.if_contains(column);
  if (!value) return {};
  auto text = table::text_of(*value);
  return text ? std::move(*text) : std::string();
}

void add_row(const Row& row, const Add& add) {
  std::string name = name_of(row);
  std::string prompt = text_in(row.fields, "prompt");
  std::string completion = text_in(row.fields, "completion");
  if (!completion.empty()) return add(name, prompt.empty() ? completion : prompt + "\n" + completion);
  std::vector<std::pair<std::string_view, std::string>> found;
  for (std::string_view column : code_columns)
    if (std::string text = text_in(row.fields, column); !trim(text).empty()) found.emplace_back(column, text);
  if (found.empty() && !prompt.empty()) found.emplace_back("prompt", prompt);
  for (auto& [column, text] : found)
    add(found.size() == 1 ? name : fmt::format("{} ({})", name, column), std::move(text));
}

Result<> read_all(RowReader& rows, const Add& add) {
  while (true) {
    auto row = rows.next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    if (auto* bad = std::get_if<RowError>(&**row)) return fail(describe(*bad), bad->remedy);
    add_row(std::get<Row>(**row), add);
  }
}

Result<> read_csv(const std::string& path, const Add& add) {
  auto file = table::open_text(path);
  if (!file) return std::unexpected(file.error());
  table::RecordSource source;
  source.fd = file->fd.get();
  source.name = path;
  source.max_bytes = LineReader::default_max;
  source.begin = file->begin;
  table::RecordReader records(std::move(source), std::make_unique<table::CsvCutter>());
  std::vector<std::string> columns;
  std::vector<std::string> fields;
  while (true) {
    auto record = records.next();
    if (!record) return std::unexpected(record.error());
    if (!*record) return {};
    std::uint64_t number = (*record)->number;
    bool usable = !(*record)->too_long && is_utf8((*record)->text);
    Result<> taken = usable ? table::csv_fields((*record)->text, fields) : fail("too long, or not UTF-8");
    if (!taken) return fail(fmt::format("{}, record {}: {}", path, number, taken.error().what));
    if (columns.empty()) {
      columns = fields;
      continue;
    }
    Row row{number - 1, {}};
    for (std::size_t i = 0; i < std::min(fields.size(), columns.size()); ++i)
      row.fields.insert_or_assign(columns[i], fields[i]);
    add_row(row, add);
  }
}

// Some .jsonl files contain a JSON list, so the first character decides.
Result<std::unique_ptr<RowReader>> open_json(const std::string& path) {
  auto lines = open_lines(path);
  if (!lines) return std::unexpected(lines.error());
  while (true) {
    auto line = lines->next();
    if (!line) return std::unexpected(line.error());
    if (!*line) return read_jsonl(path);
    std::string_view text = trim((*line)->text);
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (text.empty()) continue;
    return text.front() == '[' ? read_json_list(path) : read_jsonl(path);
  }
}

Result<std::unique_ptr<RowReader>> open_reference_reader(const std::string& path,
                                                         const ParquetHelper& parquet) {
  if (std::filesystem::path(path).extension() != ".parquet") return open_json(path);
  if (parquet.python.empty())
    return fail(fmt::format("cannot read {}: Parquet needs a Python with pyarrow", path),
                "give one with --python");
  return read_parquet(path, parquet);
}

// KernelBook's files have names that say nothing, but columns that no other set has together.
bool is_kernelbook(const std::string& path, const ParquetHelper& parquet) {
  if (path.ends_with(".csv")) return false;
  auto rows = open_reference_reader(path, parquet);
  if (!rows) return false;
  auto first = (*rows)->next();
  if (!first || !*first) return false;
  const Row* row = std::get_if<Row>(&**first);
  auto has = [&](std::string_view column) { return row && row->fields.contains(column); };
  return has("python_code") && has("triton_code") && (has("entry_point") || has("module_name"));
}

}  // namespace

Result<> read_reference_rows(const std::string& path, const ParquetHelper& parquet, const Add& add) {
  if (std::filesystem::path(path).extension() == ".csv") return read_csv(path, add);
  auto rows = open_reference_reader(path, parquet);
  if (!rows) return std::unexpected(rows.error());
  return read_all(**rows, add);
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_file_bytes = std::size_t{16} << 20;

using Files = std::vector<fs::path>;  // sorted by name

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

Result<Files> files_below(const fs::path& folder) {
  Files files;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->is_symlink(error)) continue;
    if (is_hidden(at->path()) && at->is_directory(error)) at.disable_recursion_pending();
    if (!is_hidden(at->path()) && at->is_regular_file(error)) files.push_back(at->path());
  }
  if (error) return fail(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  std::ranges::sort(files);
  return files;
}

bool ends_in(const fs::path& path, std::initializer_list<std::string_view> endings) {
  return std::ranges::find(endings, path.extension().string()) != endings.end();
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// A path such as KernelBench/level1/19_ReLU.py.
bool is_kernelbench(const fs::path& path) {
  std::string level = path.parent_path().filename().string();
  std::string name = path.filename().string();
  return ends_in(path, {".py"}) && level.starts_with("level") && is_number(level.substr(5)) &&
         is_number(name.substr(0, name.find('_'))) && name.find('_') != std::string::npos;
}

// The part of TritonBench that contains the file: "TritonBench_G", "TritonBench_T", or empty.
std::string tritonbench_half(const fs::path& path) {
  bool is_rows = ends_in(path, {".json", ".jsonl"});
  std::string name = is_rows ? path.filename().string() : path.parent_path().filename().string();
  for (std::string half : {"TritonBench_G", "TritonBench_T"}) {
    if (is_rows && name.starts_with(half + "_")) return half;
    if (ends_in(path, {".py"}) && name.starts_with(half + "_v")) return half;
  }
  return {};
}

// A line of only '#' separates a TritonBench answer from its tests.
std::size_t line_of_hashes(std::string_view text) {
  std::size_t at = text.find("\n##########");
  if (at == std::string_view::npos) return at;
  std::size_t end = std::min(text.find('\n', at + 1), text.size());
  return trim(text.substr(at, end - at)).find_first_not_of('#') == std::string_view::npos
             ? at
             : std::string_view::npos;
}

// Collects references without equal texts of one benchmark.
class Shelf {
 public:
  void add(Reference reference) {
    if (trim(reference.text).empty()) return;
    if (seen_.insert(sha256_hex_of({reference.against, trim(reference.text)})).second)
      references_.push_back(std::move(reference));
  }

  Result<> add_file(const fs::path& path, const std::string& against, const std::string& row) {
    auto text = read_file(path, most_file_bytes);
    if (!text) return std::unexpected(text.error());
    add({against, row, std::move(*text)});
    return {};
  }

  Result<> add_tritonbench(const fs::path& path, const std::string& half) {
    if (!ends_in(path, {".py"})) return add_rows(path, half, path.filename().string() + ":");
    auto text = read_file(path, most_file_bytes);
    if (!text) return std::unexpected(text.error());
    std::string row = path.filename().string();
    std::size_t tests = line_of_hashes(*text);
    if (tests != std::string::npos) {
      add({half, row + " (tests)", text->substr(tests)});
      text->resize(tests);
    }
    add({half, row, std::move(*text)});
    return {};
  }

  Result<> add_rows(const fs::path& path, const std::string& against, const std::string& before_row,
                    const ParquetHelper& parquet = {}) {
    return read_reference_rows(path.string(), parquet, [&](const std::string& row, std::string text) {
      add({against, before_row + row, std::move(text)});
    });
  }

  std::vector<Reference> take() { return std::move(references_); }
  bool empty() const { return references_.empty(); }

 private:
  std::vector<Reference> references_;
  std::set<std::string> seen_;
};

// Adds source files before rows, and among rows those with file names first: of equal texts, the first one's
// name is used.
Result<> add_benchmarks(Files files, const ParquetHelper& parquet, Shelf& shelf) {
  std::ranges::sort(files, [](const fs::path& a, const fs::path& b) {
    bool rows_a = !ends_in(a, {".py"});
    bool rows_b = !ends_in(b, {".py"});
    if (rows_a != rows_b) return rows_b;
    return rows_a ? b < a : a < b;
  });
  for (const fs::path& path : files) {
    Result<> added;
    std::string half = tritonbench_half(path);
    if (is_kernelbench(path))
      added = shelf.add_file(path, "KernelBench",
                             path.parent_path().filename().string() + "/" + path.filename().string());
    else if (!half.empty())
      added = shelf.add_tritonbench(path, half);
    else if (ends_in(path, {".json", ".jsonl", ".parquet"}) && is_kernelbook(path.string(), parquet))
      added = shelf.add_rows(path, "KernelBook", "", parquet);
    if (!added) return added;
  }
  return {};
}

Result<> add_folder(const fs::path& folder, const Files& files, Shelf& shelf) {
  std::error_code error;
  std::string name = fs::canonical(folder, error).filename().string();
  for (const fs::path& path : files) {
    if (!ends_in(path, {".py", ".cu", ".cuh"})) continue;
    if (auto added = shelf.add_file(path, name, path.lexically_relative(folder).generic_string()); !added)
      return added;
  }
  return {};
}

}  // namespace

Result<std::vector<Reference>> open_references(const std::string& path, const ParquetHelper& parquet) {
  Shelf shelf;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    auto files = files_below(path);
    if (!files) return std::unexpected(files.error());
    if (auto added = add_benchmarks(*files, parquet, shelf); !added) return std::unexpected(added.error());
    if (shelf.empty())
      if (auto added = add_folder(path, *files, shelf); !added) return std::unexpected(added.error());
  } else {
    std::string name = is_kernelbook(path, parquet) ? "KernelBook" : fs::path(path).filename().string();
    if (auto added = shelf.add_rows(path, name, "", parquet); !added) return std::unexpected(added.error());
  }
  if (shelf.empty())
    return fail(
        fmt::format("{} contains no text to compare with", path),
        "give a KernelBench or TritonBench checkout, a folder of .py or .cu files, or rows with code: CSV, "
        "JSON, JSON lines, Parquet");
  return shelf.take();
}

std::vector<Benchmark> benchmarks_of(const std::vector<Reference>& references) {
  std::map<std::string, std::set<std::string>> digests;
  for (const Reference& reference : references)
    digests[reference.against].insert(sha256_hex_of({reference.row, reference.text}));
  std::vector<Benchmark> benchmarks;
  for (const auto& [name, texts] : digests) {
    std::string all;
    for (const std::string& digest : texts) all += digest;
    benchmarks.push_back({name, sha256_hex(all), texts.size()});
  }
  return benchmarks;
}

}  // namespace kw::leak
