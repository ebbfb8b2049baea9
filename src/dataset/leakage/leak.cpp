#include "dataset/leakage/leak.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "dataset/leakage/symbols.h"
#include "dataset/leakage/window_table.h"
#include "dataset/leakage/words.h"

namespace kw::leak {

std::string_view licence_notices() {
  return "Copyright All Rights Reserved. Copyright (c) All rights reserved. "
         "All Rights Reserved. Licensed under the Apache License, Version 2.0 (the \"License\"); you may not "
         "use "
         "this file except in compliance with the License. You may obtain a copy of the License at "
         "http://www.apache.org/licenses/LICENSE-2.0 Unless required by applicable law or agreed to in "
         "writing, "
         "software distributed under the License is distributed on an \"AS IS\" BASIS, WITHOUT WARRANTIES OR "
         "CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language "
         "governing "
         "permissions and limitations under the License.\n"
         "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and "
         "associated documentation files (the \"Software\"), to deal in the Software without restriction, "
         "including without limitation the rights to use, copy, modify, merge, publish, distribute, "
         "sublicense, "
         "and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do "
         "so, "
         "subject to the following conditions: The above copyright notice and this permission notice shall "
         "be "
         "included in all copies or substantial portions of the Software. THE SOFTWARE IS PROVIDED \"AS "
         "IS\", "
         "WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF "
         "MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE "
         "AUTHORS OR "
         "COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF "
         "CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR "
         "OTHER DEALINGS IN THE SOFTWARE.\n"
         "Redistribution and use in source and binary forms, with or without modification, are permitted "
         "provided that the following conditions are met: 1. Redistributions of source code must retain the "
         "above copyright notice, this list of conditions and the following disclaimer. 2. Redistributions "
         "in "
         "binary form must reproduce the above copyright notice, this list of conditions and the following "
         "disclaimer in the documentation and/or other materials provided with the distribution. 3. Neither "
         "the "
         "name of the copyright holder nor the names of its contributors may be used to endorse or promote "
         "products derived from this software without specific prior written permission. THIS SOFTWARE IS "
         "PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS \"AS IS\" AND ANY EXPRESS OR IMPLIED "
         "WARRANTIES, "
         "INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A "
         "PARTICULAR "
         "PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY "
         "DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT "
         "LIMITED "
         "TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS "
         "INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT "
         "LIABILITY, OR "
         "TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN "
         "IF "
         "ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.\n";
}

namespace {

// A longer text is checked in overlapping chunks. A copied reference, or each copied part, lies in one chunk.
constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
constexpr std::size_t overlap_bytes = std::size_t{1} << 16;

// A reference with fewer windows in the table is found by its words, or as a partial copy.
constexpr std::uint32_t least_contained = 6;

// A partial copy covers a tenth of its reference, or is a run of so many times least_windows. Long kernels
// contain a few common lines, and a small benchmark cannot identify the rarer ones as common.
constexpr double least_part = 0.1;
constexpr std::size_t long_run = 4;

using Read = std::vector<Symbol> (*)(std::string_view text);

std::vector<ReferenceWindows> windows_of(const std::vector<Reference>& references, Read read,
                                         std::size_t width) {
  std::map<std::string, std::uint32_t> benchmarks;
  std::vector<ReferenceWindows> all;
  for (const Reference& reference : references) {
    auto number = static_cast<std::uint32_t>(benchmarks.size());
    all.push_back({read_windows(read(reference.text), width),
                   benchmarks.try_emplace(reference.against, number).first->second});
  }
  return all;
}

std::vector<WordSet> words_of(const std::vector<Reference>& references) {
  std::vector<WordSet> all;
  for (const Reference& reference : references)
    all.push_back(*word_set(reference.text, reference.text.size()));
  return all;
}

// The begin of the next chunk: after the end of a nearby line if there is one.
std::size_t next_chunk(std::string_view text, std::size_t begin) {
  std::size_t next = begin + chunk_bytes - overlap_bytes;
  std::size_t line = text.substr(next, overlap_bytes / 2).find('\n');
  return line == std::string_view::npos ? next : next + line + 1;
}

// The references' windows for one way of reading texts, and the thresholds for a copy.
class Reading {
 public:
  Reading(const std::vector<Reference>& references, Read read, const Thresholds& thresholds)
      : read_(read),
        thresholds_(thresholds),
        table_(windows_of(references, read, thresholds.window_tokens),
               read_windows(read(licence_notices()), thresholds.window_tokens)) {}

  std::vector<Match> matches(std::string_view text) const {
    std::size_t least_hits = std::min<std::size_t>(least_contained, thresholds_.least_windows);
    return find_matches(table_, read_(text), thresholds_.window_tokens, least_hits);
  }

  double contained(std::uint32_t reference, const Extent& extent) const {
    std::uint32_t telling = table_.telling(reference);
    return telling == 0 ? 0 : static_cast<double>(extent.windows) / static_cast<double>(telling);
  }

  bool is_copy(std::uint32_t reference, const Extent& extent) const {
    double part = least_part * static_cast<double>(table_.telling(reference));
    if (extent.run >= thresholds_.least_windows &&
        (extent.run >= part || extent.run >= long_run * thresholds_.least_windows))
      return true;
    return extent.windows >= least_contained && contained(reference, extent) >= thresholds_.containment;
  }

 private:
  Read read_;
  Thresholds thresholds_;
  WindowTable table_;
};

// The similarity of a text to one reference.
struct Resemblance {
  Match code;
  Match words;
  double jaccard = 0;
  bool same_words = false;
};

}  // namespace

struct Index::State {
  State(std::vector<Reference> all, const Thresholds& thresholds)
      : references(std::move(all)),
        code(references, read_symbols, thresholds),
        words(references, read_words, thresholds),
        sets(words_of(references), thresholds.jaccard) {
    // The tables replace the texts: free their memory.
    for (Reference& reference : references) std::string().swap(reference.text);
  }

  using Found = std::map<std::uint32_t, Resemblance>;
  void match(const Reading& reading, Match Resemblance::* part, std::string_view text, std::size_t begin,
             Found& found) const;
  Found resemblances(std::string_view text) const;
  bool is_leak(std::uint32_t reference, const Resemblance& like) const;
  corpus::Leak leak(std::uint32_t reference, const Resemblance& like, std::size_t text_bytes) const;

  std::vector<Reference> references;
  Reading code;   // own names renamed, no comments: finds copies with other names or formatting
  Reading words;  // as written, including comments and prose
  WordTable sets;
};

void Index::State::match(const Reading& reading, Match Resemblance::* part, std::string_view text,
                         std::size_t begin, Found& found) const {
  for (Match& match : reading.matches(text.substr(begin, chunk_bytes))) {
    for (corpus::Span& span : match.spans) span = {span.begin + begin, span.end + begin};
    merge(found[match.reference].*part, match);
  }
}

Index::State::Found Index::State::resemblances(std::string_view text) const {
  Found found;
  for (std::size_t begin = 0; begin < text.size();) {
    match(code, &Resemblance::code, text, begin, found);
    match(words, &Resemblance::words, text, begin, found);
    begin = begin + chunk_bytes >= text.size() ? text.size() : next_chunk(text, begin);
  }
  std::optional<WordSet> set = sets.read(text);
  if (!set) return found;
  for (const auto& [reference, jaccard] : sets.find(*set)) found[reference].same_words = true;
  for (auto& [reference, like] : found)
    if (is_leak(reference, like)) like.jaccard = sets.jaccard(*set, reference);
  return found;
}

bool Index::State::is_leak(std::uint32_t reference, const Resemblance& like) const {
  return like.same_words || code.is_copy(reference, like.code.renamed) ||
         words.is_copy(reference, like.words.written);
}

corpus::Leak Index::State::leak(std::uint32_t reference, const Resemblance& like,
                                std::size_t text_bytes) const {
  corpus::Leak leak;
  leak.against = references[reference].against;
  leak.row = references[reference].row;
  leak.jaccard = like.jaccard;
  leak.containment =
      std::max(code.contained(reference, like.code.renamed), words.contained(reference, like.words.written));
  leak.renamed = !like.same_words && code.is_copy(reference, like.code.renamed) &&
                 !code.is_copy(reference, like.code.written);
  Match both = like.code;
  merge(both, like.words);
  leak.spans = std::move(both.spans);
  if (leak.spans.empty()) leak.spans.push_back({0, text_bytes});
  return leak;
}

Index::Index(std::vector<Reference> references, const Thresholds& thresholds)
    : state_(std::make_unique<State>(std::move(references), thresholds)) {}

Index::~Index() = default;

std::size_t Index::size() const {
  return state_->references.size();
}

std::vector<corpus::Leak> Index::check(std::string_view text, const std::string& field) const {
  std::vector<corpus::Leak> leaks;
  for (const auto& [reference, like] : state_->resemblances(text)) {
    if (!state_->is_leak(reference, like)) continue;
    leaks.push_back(state_->leak(reference, like, text.size()));
    leaks.back().field = field;
  }
  // Equal results keep the order of the references.
  std::vector<std::size_t> order(leaks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    auto strength = [&](std::size_t i) {
      return std::tuple(-std::max(leaks[i].jaccard, leaks[i].containment), -leaks[i].containment, i);
    };
    return strength(a) < strength(b);
  });
  std::vector<corpus::Leak> sorted;
  for (std::size_t i : order) sorted.push_back(std::move(leaks[i]));
  return sorted;
}

}  // namespace kw::leak
