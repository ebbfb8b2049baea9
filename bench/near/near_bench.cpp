// near_bench FILE.jsonl [--threads N] [--brute-force] [--pairs FILE]
// Each line {"text": ...}, or {"prompt": ..., "completion": ...}, is a text. Prints one JSON object: seconds
// of sketching (one thread, bytes in memory, sketches to memory), of the join and of its parts, and with
// --brute-force precision and recall. --pairs FILE gets the true pairs, "a b jaccard" a line.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "base/rows/row_reader.h"
#include "brute_force.h"
#include "code/similarity/near.h"
#include "code/similarity/sketch.h"

namespace kw::bench {
namespace {

using Clock = std::chrono::steady_clock;
namespace json = boost::json;

struct Options {
  std::string file;
  unsigned threads = 1;
  bool brute_force = false;
  std::string pairs;
};

double since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

// Processor seconds of this thread, because the machine may have other work.
double thread_cpu_s() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The value; throws the error of a failed result.
template <typename T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().what);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

std::vector<std::string> read_texts(const std::string& path) {
  auto lines = need(open_lines(path));
  std::vector<std::string> texts;
  while (auto line = need(lines.next())) {
    if (line->too_long || line->text.empty()) continue;
    auto row = json::parse(line->text).as_object();
    auto piece = [&](const char* key) { return std::string(row.at(key).as_string()); };
    texts.push_back(row.contains("text") ? piece("text") : piece("prompt") + "\n" + piece("completion"));
  }
  return texts;
}

struct Sketching {
  double shingles_s = 0;  // tokens and shingles alone
  double shingles_cpu_s = 0;
  double whole_s = 0;
  double whole_cpu_s = 0;
  std::uint64_t shingles = 0;
  std::vector<std::uint32_t> sketches;
};

// The best of several rounds, because the machine may have other work.
Sketching sketch(const std::vector<std::string>& texts, const near::Parameters& parameters) {
  constexpr int rounds = 3;
  Sketching result{1e9, 1e9, 1e9, 1e9, 0, {}};
  std::size_t width = parameters.bands * parameters.rows;
  result.sketches.resize(texts.size() * width);
  std::uint64_t sum = 0;
  for (int round = 0; round < rounds; ++round) {
    auto began = Clock::now();
    double cpu_began = thread_cpu_s();
    result.shingles = 0;
    for (const std::string& text : texts) {
      near::Shingles shingles(text, parameters);
      for (auto block = shingles.next(); !block.empty(); block = shingles.next()) {
        result.shingles += block.size();
        sum += block.back();
      }
    }
    result.shingles_s = std::min(result.shingles_s, since(began));
    result.shingles_cpu_s = std::min(result.shingles_cpu_s, thread_cpu_s() - cpu_began);
    began = Clock::now();
    cpu_began = thread_cpu_s();
    near::Sketcher sketcher(parameters);
    for (std::size_t i = 0; i < texts.size(); ++i)
      sketcher.sketch(texts[i], std::span(result.sketches).subspan(i * width, width));
    result.whole_s = std::min(result.whole_s, since(began));
    result.whole_cpu_s = std::min(result.whole_cpu_s, thread_cpu_s() - cpu_began);
  }
  if (sum == 0) std::cerr << "";  // keeps the compiler from removing the first loop
  return result;
}

json::object join_figures(const near::SketchFile& file, const near::TextAt& text,
                          const near::JoinOptions& options, std::vector<near::Pair>* pairs) {
  auto began = Clock::now();
  std::clock_t cpu_began = std::clock();
  auto joined = need(near::join(file, text, options));
  double cpu_s = static_cast<double>(std::clock() - cpu_began) / CLOCKS_PER_SEC;
  json::object figures{{"seconds", since(began)},
                       {"cpu_s", cpu_s},
                       {"candidates", joined.tally.candidates},
                       {"verified", joined.tally.verified},
                       {"over", joined.tally.over},
                       {"bounded", joined.tally.bounded}};
  if (pairs) *pairs = std::move(joined.pairs);
  return figures;
}

json::object against(const std::vector<near::Pair>& truth, const std::vector<near::Pair>& found) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> have;
  for (const auto& pair : found) have.emplace(pair.a, pair.b);
  json::object by_jaccard;
  std::size_t right = 0;
  for (double from = 0.8; from < 1.01; from += 0.05) {
    std::size_t all = 0;
    std::size_t got = 0;
    for (const auto& pair : truth) {
      if (pair.jaccard < from - 1e-12 || pair.jaccard >= from + 0.05 - 1e-12) continue;
      ++all;
      got += have.contains({pair.a, pair.b});
    }
    right += got;
    if (all > 0)
      by_jaccard[fmt::format("{:.2f}", from)] =
          json::object{{"pairs", all}, {"recall", static_cast<double>(got) / static_cast<double>(all)}};
  }
  auto share = [](std::size_t part, std::size_t whole) {
    return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  return {{"true_pairs", truth.size()},
          {"precision", share(right, found.size())},
          {"recall", share(right, truth.size())},
          {"recall_by_jaccard", by_jaccard}};
}

std::vector<near::Pair> true_pairs(const std::vector<std::string>& texts, const Options& options,
                                   const near::Parameters& parameters) {
  std::vector<std::vector<std::uint64_t>> sets;
  for (const std::string& text : texts) sets.push_back(near::shingle_set(text, parameters));
  auto pairs = brute_force(sets, parameters.threshold, options.threads);
  if (!options.pairs.empty()) {
    std::ofstream out(options.pairs);
    for (const auto& pair : pairs) out << pair.a << ' ' << pair.b << ' ' << pair.jaccard << '\n';
  }
  return pairs;
}

json::object measure(const Options& options) {
  near::Parameters parameters;
  auto texts = read_texts(options.file);
  std::uint64_t bytes = 0;
  std::uint64_t tokens = 0;
  for (const std::string& text : texts) {
    bytes += text.size();
    std::vector<std::uint64_t> hashes(text.size() + near::TokenHashes::slack);
    tokens += near::TokenHashes(text, false).next(hashes);
  }
  auto sketched = sketch(texts, parameters);
  double megabytes = static_cast<double>(bytes) / 1e6;

  auto path = std::filesystem::temp_directory_path() / fmt::format("near_bench.{}", ::getpid());
  near::TextAt text = [&](std::uint32_t number) -> Result<std::string> { return texts[number]; };
  std::vector<near::Pair> found;
  json::object join_all;
  json::object join_clusters;
  {
    auto file = need(near::SketchFile::open(path, parameters));
    std::filesystem::remove(path);
    need(file.append(sketched.sketches));
    near::JoinOptions all{.threads = options.threads, .all_pairs = true};
    join_all = join_figures(file, text, all, &found);
    join_clusters = join_figures(file, text, {.threads = options.threads}, nullptr);
  }
  json::object figures{{"texts", texts.size()},
                       {"bytes", bytes},
                       {"tokens", tokens},
                       {"shingles", sketched.shingles},
                       {"shingles_s", sketched.shingles_s},
                       {"shingles_cpu_s", sketched.shingles_cpu_s},
                       {"sketch_s", sketched.whole_s},
                       {"sketch_cpu_s", sketched.whole_cpu_s},
                       {"sketch_mb_cpu_s", megabytes / sketched.whole_cpu_s},
                       {"sketch_mb_s", megabytes / sketched.whole_s},
                       {"threads_of_join", options.threads},
                       {"join_all_pairs", join_all},
                       {"join_clusters", join_clusters}};
  if (options.brute_force) {
    auto began = Clock::now();
    auto truth = true_pairs(texts, options, parameters);
    figures["brute_force_s"] = since(began);
    figures["against_brute_force"] = against(truth, found);
  }
  return figures;
}

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--brute-force")
      options.brute_force = true;
    else if (word == "--threads" && i + 1 < argc)
      options.threads = static_cast<unsigned>(std::stoul(argv[++i]));
    else if (word == "--pairs" && i + 1 < argc)
      options.pairs = argv[++i];
    else
      options.file = word;
  }
  if (options.file.empty())
    throw std::runtime_error("near_bench FILE.jsonl [--threads N] [--brute-force] [--pairs FILE]");
  return options;
}

}  // namespace
}  // namespace kw::bench

int main(int argc, char** argv) {
  try {
    std::cout << kw::bench::measure(kw::bench::options_of(argc, argv)) << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
