#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "leak/leak.h"
#include "leak/reference_rows.h"

namespace kw::leak {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_file_bytes = std::size_t{16} << 20;

using Files = std::vector<fs::path>;  // by name

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

// KernelBench/level1/19_ReLU.py
bool is_kernelbench(const fs::path& path) {
  std::string level = path.parent_path().filename().string();
  std::string name = path.filename().string();
  return ends_in(path, {".py"}) && level.starts_with("level") && is_number(level.substr(5)) &&
         is_number(name.substr(0, name.find('_'))) && name.find('_') != std::string::npos;
}

// The half of TritonBench that a file belongs to: "TritonBench_G", "TritonBench_T", or nothing.
std::string tritonbench_half(const fs::path& path) {
  bool is_rows = ends_in(path, {".json", ".jsonl"});
  std::string name = is_rows ? path.filename().string() : path.parent_path().filename().string();
  for (std::string half : {"TritonBench_G", "TritonBench_T"}) {
    if (is_rows && name.starts_with(half + "_")) return half;
    if (ends_in(path, {".py"}) && name.starts_with(half + "_v")) return half;
  }
  return {};
}

// A line of nothing but '#' parts a TritonBench answer from its tests.
std::size_t line_of_hashes(std::string_view text) {
  std::size_t at = text.find("\n##########");
  if (at == std::string_view::npos) return at;
  std::size_t end = std::min(text.find('\n', at + 1), text.size());
  return trim(text.substr(at, end - at)).find_first_not_of('#') == std::string_view::npos
             ? at
             : std::string_view::npos;
}

// Collects references, each text of a benchmark once.
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

// Sources before rows, and of the rows those before that name their files: the first that has a text names
// it.
Result<> add_benchmarks(Files files, Shelf& shelf) {
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
    if (auto added = add_benchmarks(*files, shelf); !added) return std::unexpected(added.error());
    if (shelf.empty())
      if (auto added = add_folder(path, *files, shelf); !added) return std::unexpected(added.error());
  } else if (auto added = shelf.add_rows(path, fs::path(path).filename().string(), "", parquet); !added) {
    return std::unexpected(added.error());
  }
  if (shelf.empty())
    return fail(
        fmt::format("{} holds nothing to compare with", path),
        "give a KernelBench or TritonBench checkout, a folder of .py or .cu files, or rows with code: CSV, "
        "JSON, JSON lines, Parquet");
  return shelf.take();
}

}  // namespace kw::leak
