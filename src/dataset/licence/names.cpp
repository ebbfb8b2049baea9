#include "dataset/licence/names.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/core/text.h"
#include "dataset/licence/words.h"

namespace kw::licence {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// Ids in lower case → SPDX spelling. Deprecated ids become their replacements.
constexpr std::array<Pair, 77> ids{{
    {"mit", "MIT"},
    {"mit-0", "MIT-0"},
    {"apache-2.0", "Apache-2.0"},
    {"apache-2", "Apache-2.0"},
    {"apache2", "Apache-2.0"},
    {"apache2.0", "Apache-2.0"},
    {"apache", "Apache-2.0"},
    {"bsd-1-clause", "BSD-1-Clause"},
    {"bsd-2", "BSD-2-Clause"},
    {"bsd-2-clause", "BSD-2-Clause"},
    {"bsd-3", "BSD-3-Clause"},
    {"bsd-3-clause", "BSD-3-Clause"},
    {"bsd3", "BSD-3-Clause"},
    {"bsd-4-clause", "BSD-4-Clause"},
    {"0bsd", "0BSD"},
    {"isc", "ISC"},
    {"zlib", "Zlib"},
    {"bsl-1.0", "BSL-1.0"},
    {"unlicense", "Unlicense"},
    {"cc0-1.0", "CC0-1.0"},
    {"cc0", "CC0-1.0"},
    {"cc-by-4.0", "CC-BY-4.0"},
    {"cc-by-sa-4.0", "CC-BY-SA-4.0"},
    {"cc-by-nc-4.0", "CC-BY-NC-4.0"},
    {"cc-by-nc-sa-4.0", "CC-BY-NC-SA-4.0"},
    {"cc-by-nc-nd-4.0", "CC-BY-NC-ND-4.0"},
    {"mpl-2.0", "MPL-2.0"},
    {"mpl2", "MPL-2.0"},
    {"psf-2.0", "PSF-2.0"},
    {"psf", "PSF-2.0"},
    {"python-2.0", "Python-2.0"},
    {"busl-1.1", "BUSL-1.1"},
    {"ncsa", "NCSA"},
    {"hpnd", "HPND"},
    {"x11", "X11"},
    {"gpl-1.0", "GPL-1.0-only"},
    {"gpl-2.0", "GPL-2.0-only"},
    {"gpl-2.0-only", "GPL-2.0-only"},
    {"gpl-2.0+", "GPL-2.0-or-later"},
    {"gpl-2.0-or-later", "GPL-2.0-or-later"},
    {"gplv2", "GPL-2.0-only"},
    {"gpl-3.0", "GPL-3.0-only"},
    {"gpl-3.0-only", "GPL-3.0-only"},
    {"gpl-3.0+", "GPL-3.0-or-later"},
    {"gpl-3.0-or-later", "GPL-3.0-or-later"},
    {"gplv3", "GPL-3.0-only"},
    {"gplv3+", "GPL-3.0-or-later"},
    {"lgpl-2.1", "LGPL-2.1-only"},
    {"lgpl-2.1-only", "LGPL-2.1-only"},
    {"lgpl-2.1+", "LGPL-2.1-or-later"},
    {"lgpl-2.1-or-later", "LGPL-2.1-or-later"},
    {"lgpl-3.0", "LGPL-3.0-only"},
    {"lgpl-3.0-only", "LGPL-3.0-only"},
    {"lgpl-3.0+", "LGPL-3.0-or-later"},
    {"lgpl-3.0-or-later", "LGPL-3.0-or-later"},
    {"lgplv3", "LGPL-3.0-only"},
    {"agpl-3.0", "AGPL-3.0-only"},
    {"agpl-3.0-only", "AGPL-3.0-only"},
    {"agpl-3.0+", "AGPL-3.0-or-later"},
    {"agpl-3.0-or-later", "AGPL-3.0-or-later"},
    {"agplv3", "AGPL-3.0-only"},
    {"agpl", "AGPL-3.0-only"},
    {"afl-3.0", "AFL-3.0"},
    {"artistic-2.0", "Artistic-2.0"},
    {"bsd-3-clause-clear", "BSD-3-Clause-Clear"},
    {"cc-by-3.0", "CC-BY-3.0"},
    {"cddl-1.0", "CDDL-1.0"},
    {"ecl-2.0", "ECL-2.0"},
    {"epl-2.0", "EPL-2.0"},
    {"eupl-1.2", "EUPL-1.2"},
    {"lgpl-2.0-only", "LGPL-2.0-only"},
    {"lgpl-2.0-or-later", "LGPL-2.0-or-later"},
    {"mpl-1.1", "MPL-1.1"},
    {"ms-pl", "MS-PL"},
    {"mulanpsl-2.0", "MulanPSL-2.0"},
    {"ofl-1.1", "OFL-1.1"},
    {"upl-1.0", "UPL-1.0"},
}};

constexpr std::array<std::string_view, 8> exceptions{
    "LLVM-exception",         "GCC-exception-3.1",   "GCC-exception-2.0", "Classpath-exception-2.0",
    "Autoconf-exception-3.0", "Bison-exception-2.2", "OpenSSL-exception", "Linux-syscall-note"};

// Names as words. A longer name precedes its prefixes.
constexpr std::array<Pair, 69> names{{
    {"apache license v2 0 with llvm exceptions", "Apache-2.0 WITH LLVM-exception"},
    {"apache license v2 0 with llvm exception", "Apache-2.0 WITH LLVM-exception"},
    {"apache license version 2 0 with llvm exceptions", "Apache-2.0 WITH LLVM-exception"},
    {"apache license version 2 0", "Apache-2.0"},
    {"apache software license version 2 0", "Apache-2.0"},
    {"apache software license 2 0", "Apache-2.0"},
    {"apache software license", "Apache-2.0"},
    {"apache license v2 0", "Apache-2.0"},
    {"apache license 2 0", "Apache-2.0"},
    {"apache license v2", "Apache-2.0"},
    {"apache license 2", "Apache-2.0"},
    {"apache 2 0 license", "Apache-2.0"},
    {"apache version 2 0", "Apache-2.0"},
    {"apache 2 license", "Apache-2.0"},
    {"apache v2 0", "Apache-2.0"},
    {"apache 2 0", "Apache-2.0"},
    {"apache 2", "Apache-2.0"},
    {"apache2", "Apache-2.0"},
    {"apache license", "Apache-2.0"},
    {"mit no attribution license", "MIT-0"},
    {"mit license", "MIT"},
    {"mit licence", "MIT"},
    {"expat license", "MIT"},
    {"mit", "MIT"},
    {"bsd 3 clause clear license", "BSD-3-Clause-Clear"},
    {"bsd 3 clause new or revised license", "BSD-3-Clause"},
    {"bsd 3 clause new license", "BSD-3-Clause"},
    {"bsd 3 clause license", "BSD-3-Clause"},
    {"3 clause bsd license", "BSD-3-Clause"},
    {"bsd 3 clause", "BSD-3-Clause"},
    {"3 clause bsd", "BSD-3-Clause"},
    {"new bsd license", "BSD-3-Clause"},
    {"modified bsd license", "BSD-3-Clause"},
    {"bsd 2 clause simplified license", "BSD-2-Clause"},
    {"bsd 2 clause license", "BSD-2-Clause"},
    {"2 clause bsd license", "BSD-2-Clause"},
    {"simplified bsd license", "BSD-2-Clause"},
    {"bsd 2 clause", "BSD-2-Clause"},
    {"2 clause bsd", "BSD-2-Clause"},
    {"isc license iscl", "ISC"},
    {"isc license", "ISC"},
    {"mozilla public license version 2 0", "MPL-2.0"},
    {"mozilla public license 2 0 mpl 2 0", "MPL-2.0"},
    {"mozilla public license 2 0", "MPL-2.0"},
    {"mpl 2 0", "MPL-2.0"},
    {"boost software license version 1 0", "BSL-1.0"},
    {"boost software license 1 0 bsl 1 0", "BSL-1.0"},
    {"boost software license 1 0", "BSL-1.0"},
    {"boost software license", "BSL-1.0"},
    {"business source license 1 1", "BUSL-1.1"},
    {"business source license", "BUSL-1.1"},
    {"python software foundation license", "PSF-2.0"},
    {"the unlicense unlicense", "Unlicense"},
    {"the unlicense", "Unlicense"},
    {"zlib libpng license", "Zlib"},
    {"zlib license", "Zlib"},
    {"creative commons attribution 4 0 international", "CC-BY-4.0"},
    {"creative commons attribution noncommercial 4 0 international", "CC-BY-NC-4.0"},
    {"cc0 1 0 universal", "CC0-1.0"},
    {"nvidia tensorrt source code license agreement", "LicenseRef-NVIDIA-TensorRT-Source-Code"},
    {"nvidia source code license", "LicenseRef-NVIDIA-Source-Code"},
    {"nvidia end user license agreement", "LicenseRef-NvidiaProprietary"},
    {"nvidia software license agreement", "LicenseRef-NvidiaProprietary"},
    {"june 9 researcher reciprocity license version 1 0", "LicenseRef-Researcher-Reciprocity"},
    {"june 9 researcher reciprocity license v1 0", "LicenseRef-Researcher-Reciprocity"},
    {"june 9 researcher reciprocity license", "LicenseRef-Researcher-Reciprocity"},
    {"researcher reciprocity license version 1 0", "LicenseRef-Researcher-Reciprocity"},
    {"researcher reciprocity license v1 0", "LicenseRef-Researcher-Reciprocity"},
    {"researcher reciprocity license", "LicenseRef-Researcher-Reciprocity"},
}};

// Restrictive phrases, which apply regardless of other permissions in the text.
constexpr std::array<Pair, 16> limits{{
    {"retain all intellectual property and proprietary rights", "LicenseRef-NvidiaProprietary"},
    {"retains all intellectual property and proprietary rights", "LicenseRef-NvidiaProprietary"},
    {"creative commons attribution noncommercial", "CC-BY-NC-4.0"},
    {"cc by nc", "CC-BY-NC-4.0"},
    {"commons clause", "LicenseRef-Commons-Clause"},
    {"non commercial use", "LicenseRef-NonCommercial"},
    {"noncommercial use", "LicenseRef-NonCommercial"},
    {"non commercial purposes", "LicenseRef-NonCommercial"},
    {"noncommercial purposes", "LicenseRef-NonCommercial"},
    {"non commercial license", "LicenseRef-NonCommercial"},
    {"research purposes only", "LicenseRef-ResearchOnly"},
    {"research use only", "LicenseRef-ResearchOnly"},
    {"proprietary and confidential", "LicenseRef-Proprietary"},
    {"confidential and proprietary", "LicenseRef-Proprietary"},
    {"proprietary license", "LicenseRef-Proprietary"},
    {"researcher reciprocity use restriction", "LicenseRef-Researcher-Reciprocity"},
}};

// Ids of licences that restrict use, and what they restrict.
constexpr std::array<Pair, 12> restrictions{{
    {"LicenseRef-Researcher-Reciprocity",
     "training and improving AI models, which needs reciprocal access for researchers"},
    {"LicenseRef-NonCommercial", "commercial use"},
    {"LicenseRef-ResearchOnly", "use beyond research"},
    {"LicenseRef-Commons-Clause", "sale"},
    {"LicenseRef-Proprietary", "use without the owner's permission"},
    {"LicenseRef-NvidiaProprietary", "use beyond NVIDIA's agreement"},
    {"LicenseRef-NVIDIA-Source-Code", "use beyond NVIDIA's agreement"},
    {"LicenseRef-NVIDIA-TensorRT-Source-Code", "use beyond NVIDIA's agreement"},
    {"CC-BY-NC-4.0", "commercial use"},
    {"CC-BY-NC-SA-4.0", "commercial use"},
    {"CC-BY-NC-ND-4.0", "commercial use and adaptations"},
    {"BUSL-1.1", "production use"},
}};

constexpr std::array<Pair, 9> gnu{{
    {"gnu affero general public license", "AGPL"},
    {"gnu lesser general public license", "LGPL"},
    {"gnu library general public license", "LGPL"},
    {"gnu general public license", "GPL"},
    {"gnu gpl", "GPL"},
    {"agpl", "AGPL"},
    {"lgpl", "LGPL"},
    {"agplv3", "AGPL"},
    {"gplv3", "GPL"},
}};

// A text with more mentions is not a licence. Limits the running time.
constexpr std::size_t max_mentions = 500;

// The end of `count` words from `at`.
std::size_t words_on(std::string_view text, std::size_t at, std::size_t count) {
  while (count > 0 && at + 1 < text.size()) {
    at = std::min(text.find(' ', at + 1), text.size() - 1);
    --count;
  }
  return at;
}

std::size_t words_back(std::string_view text, std::size_t at, std::size_t count) {
  while (count > 0 && at > 0) {
    at = text.rfind(' ', at - 1);
    --count;
  }
  return at;
}

std::string_view gnu_version(std::string_view after, std::string_view family) {
  struct Sign {
    std::string_view phrase, version;
  };
  constexpr std::array<Sign, 12> signs{{{"version 3", "3.0"},
                                        {"v3", "3.0"},
                                        {"v3 0", "3.0"},
                                        {"3 0", "3.0"},
                                        {"gplv3", "3.0"},
                                        {"agplv3", "3.0"},
                                        {"lgplv3", "3.0"},
                                        {"version 2 1", "2.1"},
                                        {"v2 1", "2.1"},
                                        {"2 1", "2.1"},
                                        {"version 2", "2.0"},
                                        {"v2", "2.0"}}};
  for (const Sign& sign : signs)
    if (has_phrase(after, sign.phrase)) return sign.version;
  return family == "AGPL" ? "3.0" : std::string_view{};
}

// The id of "gnu general public license as published ... either version 3 of the license or at your option
// any later".
std::string gnu_id(std::string_view text, std::size_t at, std::string_view phrase, std::string_view family) {
  const std::size_t name_end = at + phrase.size() + 1;
  const std::size_t begin = phrase.ends_with("v3") ? at : name_end;
  const std::string_view near = text.substr(begin, words_on(text, name_end, 12) + 1 - begin);
  const std::string_view wide = text.substr(begin, words_on(text, name_end, 24) + 1 - begin);
  const std::string_view version = gnu_version(near, family);
  if (version.empty()) return std::string(family) + "-1.0-or-later";
  const bool later =
      has_phrase(wide, "any later version") || has_phrase(wide, "or later") || has_phrase(wide, "or newer");
  return std::string(family) + "-" + std::string(version) + (later ? "-or-later" : "-only");
}

bool speaks_of_licence(std::string_view text, std::size_t at, std::string_view phrase) {
  if (phrase.find("licen") != std::string_view::npos) return true;
  const std::size_t begin = words_back(text, at, 5);
  return text.substr(begin, at + 1 - begin).find(" licen") != std::string_view::npos;
}

void find_names(const Words& words, std::vector<Mention>& found) {
  for (const auto& [phrase, id] : names)
    for (std::size_t at = find_phrase(words, phrase); at != std::string::npos;
         at = find_phrase(words, phrase, at + 1)) {
      if (found.size() >= max_mentions) return;
      const std::size_t end = at + phrase.size() + 1;
      const bool inside = std::any_of(found.begin(), found.end(),
                                      [&](const Mention& each) { return each.at <= at && end <= each.end; });
      if (!inside && speaks_of_licence(words.text, at, phrase)) found.push_back({std::string(id), at, end});
    }
}

void find_limits(const Words& words, std::vector<Mention>& found) {
  for (const auto& [phrase, id] : limits)
    if (const std::size_t at = find_phrase(words, phrase); at != std::string::npos)
      found.push_back({std::string(id), at, at + phrase.size() + 1});
}

void find_gnu(const Words& words, std::vector<Mention>& found) {
  std::vector<Mention> named;
  bool any_version = false;
  for (const auto& [phrase, family] : gnu)
    for (std::size_t at = find_phrase(words, phrase); at != std::string::npos;
         at = find_phrase(words, phrase, at + 1)) {
      if (named.size() >= max_mentions) break;
      std::string id = gnu_id(words.text, at, phrase, family);
      any_version = any_version || !id.ends_with("-1.0-or-later");
      named.push_back({std::move(id), at, at + phrase.size() + 1});
    }
  // A notice names the licence with its version once, and again without it.
  for (Mention& each : named)
    if (!any_version || !each.spdx.ends_with("-1.0-or-later")) found.push_back(std::move(each));
}

}  // namespace

std::string canonical_id(std::string_view id) {
  const std::string key = lower(id);
  for (const auto& [name, canonical] : ids)
    if (name == key) return std::string(canonical);
  return std::string(id);
}

bool is_spdx_id(std::string_view id) {
  return std::ranges::find(ids, id, &Pair::second) != ids.end();
}

std::string_view restriction_of(std::string_view id) {
  auto found = std::ranges::find(restrictions, id, &Pair::first);
  return found == restrictions.end() ? std::string_view() : found->second;
}

std::string canonical_exception(std::string_view exception) {
  const std::string key = lower(exception);
  for (const std::string_view each : exceptions)
    if (lower(each) == key) return std::string(each);
  return {};
}

std::optional<std::string> id_of_name(std::string_view text) {
  Words words = words_of(text);
  if (words.text.starts_with(" the ") && find_phrase(words, "the unlicense") != 0) words.text.erase(0, 4);
  if (words.text.size() < 3 || words.text.size() > 120) return std::nullopt;
  const std::string_view all = std::string_view(words.text).substr(1, words.text.size() - 2);
  for (const auto& [phrase, id] : names)
    if (all == phrase) return std::string(id);
  for (const auto& [phrase, family] : gnu)
    if (all.starts_with(phrase) && find_phrase(words, phrase) == 0) {
      std::string id = gnu_id(words.text, 0, phrase, family);
      if (!id.ends_with("-1.0-or-later")) return id;
    }
  return std::nullopt;
}

std::vector<Mention> mentions(const Words& words) {
  std::vector<Mention> found;
  find_names(words, found);
  find_limits(words, found);
  find_gnu(words, found);
  std::sort(found.begin(), found.end(), [](const Mention& a, const Mention& b) {
    return std::tie(a.at, a.end, a.spdx) < std::tie(b.at, b.end, b.spdx);
  });
  return found;
}

}  // namespace kw::licence
