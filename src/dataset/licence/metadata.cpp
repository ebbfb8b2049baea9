#include "dataset/licence/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <string>
#include <utility>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/core/toml.h"
#include "dataset/licence/expression.h"
#include "dataset/licence/licence.h"

namespace kw::licence {

std::vector<PackageField> package_fields(std::string_view bytes) {
  std::vector<PackageField> fields;
  bool goes_on = false;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) break;
    if (line.front() == ' ' || line.front() == '\t') {
      if (goes_on) fields.back().value.append("\n").append(trim(line));
      continue;
    }
    const std::size_t colon = line.find(':');
    goes_on = colon != std::string_view::npos;
    if (goes_on) fields.push_back({line.substr(0, colon), std::string(trim(line.substr(colon + 1)))});
  }
  return fields;
}

namespace {

constexpr std::size_t max_metadata_bytes = std::size_t{1} << 20;

// The last part of "License :: OSI Approved :: ...". Omits classifiers without version or number of clauses.
constexpr std::array<std::pair<std::string_view, std::string_view>, 22> classifiers{{
    {"MIT License", "MIT"},
    {"MIT No Attribution License (MIT-0)", "MIT-0"},
    {"Apache Software License", "Apache-2.0"},
    {"ISC License (ISCL)", "ISC"},
    {"Zero-Clause BSD (0BSD)", "0BSD"},
    {"The Unlicense (Unlicense)", "Unlicense"},
    {"Boost Software License 1.0 (BSL-1.0)", "BSL-1.0"},
    {"Python Software Foundation License", "PSF-2.0"},
    {"zlib/libpng License", "Zlib"},
    {"CC0 1.0 Universal (CC0 1.0) Public Domain Dedication", "CC0-1.0"},
    {"Mozilla Public License 2.0 (MPL 2.0)", "MPL-2.0"},
    {"GNU Affero General Public License v3", "AGPL-3.0-only"},
    {"GNU Affero General Public License v3 or later (AGPLv3+)", "AGPL-3.0-or-later"},
    {"GNU General Public License v2 (GPLv2)", "GPL-2.0-only"},
    {"GNU General Public License v2 or later (GPLv2+)", "GPL-2.0-or-later"},
    {"GNU General Public License v3 (GPLv3)", "GPL-3.0-only"},
    {"GNU General Public License v3 or later (GPLv3+)", "GPL-3.0-or-later"},
    {"GNU General Public License (GPL)", "GPL-1.0-or-later"},
    {"GNU Lesser General Public License v3 (LGPLv3)", "LGPL-3.0-only"},
    {"GNU Lesser General Public License v3 or later (LGPLv3+)", "LGPL-3.0-or-later"},
    {"Free For Educational Use", "LicenseRef-NonCommercial"},
    {"Other/Proprietary License", "LicenseRef-Proprietary"},
}};

struct Claims {
  std::string file;  // "METADATA"
  std::string expression;
  std::string licence;
  std::vector<std::string> classified;  // as expressions
};

void add_classifier(std::string_view classifier, Claims& claims) {
  if (!classifier.starts_with("License ::")) return;
  const std::size_t last = classifier.rfind("::");
  const std::string_view name = trim(classifier.substr(last + 2));
  for (const auto& [each, spdx] : classifiers)
    if (each == name) claims.classified.emplace_back(spdx);
}

// A single word must be an SPDX id: words such as "BSD" or "Proprietary" name no licence.
std::optional<std::string> read_licence_field(std::string_view text) {
  text = trim(text);
  if (text.find('\n') != std::string_view::npos || text.size() > 200) return from_text(text);
  auto whole = as_expression(text);
  if (!whole) return from_text(text);
  const bool vague = whole->find_first_of("-. ") == std::string::npos && *whole == text && *whole != "MIT" &&
                     *whole != "ISC" && *whole != "Zlib" && *whole != "Unlicense" && *whole != "0BSD";
  return vague ? std::nullopt : whole;
}

std::optional<corpus::Licence> decide(const Claims& claims) {
  if (!claims.expression.empty()) {
    if (auto read = as_expression(claims.expression))
      return corpus::Licence{.spdx = *read, .evidence = fmt::format("{}: License-Expression", claims.file)};
  }
  const auto of_field = claims.licence.empty() ? std::nullopt : read_licence_field(claims.licence);
  const std::string classified = both(claims.classified);
  if (of_field && !classified.empty() && !says_as_much(*of_field, classified))
    return corpus::Licence{.spdx = both({*of_field, classified}),
                           .evidence = fmt::format("{}: License and classifier", claims.file)};
  if (of_field)
    return corpus::Licence{.spdx = *of_field, .evidence = fmt::format("{}: License", claims.file)};
  if (!classified.empty())
    return corpus::Licence{.spdx = classified, .evidence = fmt::format("{}: classifier", claims.file)};
  return std::nullopt;
}

Claims read_headers(std::string_view bytes) {
  Claims claims{.file = "METADATA", .expression = {}, .licence = {}, .classified = {}};
  for (PackageField& field : package_fields(bytes)) {
    if (field.key == "License-Expression") claims.expression = field.first_line();
    if (field.key == "License") claims.licence = std::move(field.value);
    if (field.key == "Classifier") add_classifier(field.first_line(), claims);
  }
  return claims;
}

void read_project(const toml::table& project, Claims& claims) {
  if (const auto text = project["license"].value<std::string>()) claims.expression = *text;
  if (const auto text = project["license"]["text"].value<std::string>()) claims.licence = *text;
  if (const toml::array* list = project["classifiers"].as_array())
    for (const auto& item : *list)
      if (const auto text = item.value<std::string>()) add_classifier(*text, claims);
}

Claims read_toml(std::string_view bytes) {
  Claims claims{.file = "pyproject.toml", .expression = {}, .licence = {}, .classified = {}};
  if (nests_too_deeply(bytes)) return claims;
  const toml::parse_result parsed = toml::parse(bytes);
  if (!parsed) return claims;
  const toml::table& root = parsed.table();
  if (const toml::table* project = root["project"].as_table()) read_project(*project, claims);
  if (claims.expression.empty())
    if (const auto text = root["tool"]["poetry"]["license"].value<std::string>()) claims.licence = *text;
  return claims;
}

Claims read_json(std::string_view bytes) {
  Claims claims{.file = "package.json", .expression = {}, .licence = {}, .classified = {}};
  const auto parsed = parse_json(bytes);
  if (!parsed || !parsed->is_object()) return claims;
  if (auto text = string_at(parsed->as_object(), "license")) claims.licence = *text;
  return claims;
}

}  // namespace

std::optional<corpus::Licence> from_package_metadata(std::string_view bytes) {
  if (bytes.size() > max_metadata_bytes) return std::nullopt;
  const std::string_view start = trim(bytes.substr(0, 2'000));
  if (start.starts_with('{')) return decide(read_json(bytes));
  if (start.starts_with("Metadata-Version:") || start.find("\nMetadata-Version:") != std::string_view::npos)
    return decide(read_headers(bytes));
  return decide(read_toml(bytes));
}

}  // namespace kw::licence
