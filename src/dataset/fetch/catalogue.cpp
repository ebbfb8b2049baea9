#include "dataset/fetch/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "base/core/json.h"
#include "base/core/text.h"
#include "dataset/fetch/catalogue_text.h"

namespace kw::fetch {
namespace {

namespace json = boost::json;

std::uint64_t count_of(const json::object& object, std::string_view key) {
  return static_cast<std::uint64_t>(count_at(object, key).value_or(0));
}

Result<ListedSource> read_entry(const json::object& object) {
  ListedSource source;
  source.name = string_at(object, "name").value_or("");
  const std::string kind = string_at(object, "kind").value_or("");
  source.kind = kind == "git" ? ListedKind::git : ListedKind::pypi;
  source.pin = string_at(object, "pin").value_or("");
  source.archive = string_at(object, "archive").value_or("");
  source.sha256 = string_at(object, "sha256").value_or("");
  source.url = string_at(object, "url").value_or("");
  source.licence = string_at(object, "licence").value_or("");
  source.left_out = count_of(object, "left_out");
  source.what = string_at(object, "what").value_or("");
  if (const json::object* kernels = object_at(object, "kernels"))
    source.kernels = {.triton = count_of(*kernels, "triton"),
                      .cuda = count_of(*kernels, "cuda"),
                      .pytorch = count_of(*kernels, "pytorch")};
  const bool has_place = kind == "git" ? !source.url.empty() : kind == "pypi" && !source.archive.empty();
  if (source.name.empty() || source.pin.empty() || !has_place)
    return fail(fmt::format("the list of sources has an incomplete entry: {}", source.name));
  return source;
}

}  // namespace

std::string_view to_string(ListedKind kind) {
  return kind == ListedKind::git ? "git" : "pypi";
}

std::vector<std::string> ListedSource::languages() const {
  std::vector<std::string> all;
  if (kernels.triton > 0) all.emplace_back("triton");
  if (kernels.cuda > 0) all.emplace_back("cuda");
  if (kernels.pytorch > 0) all.emplace_back("pytorch");
  return all;
}

std::vector<std::string> ListedSource::fetch_commands() const {
  if (kind == ListedKind::git) {
    const std::string folder = url.substr(url.rfind('/') + 1);
    return {fmt::format("git clone {}", url), fmt::format("git -C {} checkout --detach {}", folder, pin)};
  }
  if (!archive.ends_with(".whl")) return {};
  return {fmt::format("pip download --no-deps --only-binary :all: {}=={}", name, pin)};
}

std::string ListedSource::build_command() const {
  const std::string hash = sha256.empty() ? std::string() : "#sha256=" + sha256;
  const std::string source = kind == ListedKind::git ? fmt::format("--git {}@{}", url, pin)
                                                     : fmt::format("--pypi {}=={}{}", name, pin, hash);
  return fmt::format("kernelwright dataset build {} --output {}-set", source, name);
}

Result<std::vector<ListedSource>> read_catalogue(std::string_view text) {
  auto value = parse_json(text);
  if (!value) return fail("the list of sources is damaged: " + value.error().what);
  if (!value->is_array()) return fail("the list of sources is damaged: no array");
  std::vector<ListedSource> all;
  for (const json::value& each : value->get_array()) {
    if (!each.is_object()) return fail("the list of sources is damaged: an entry is no object");
    auto source = read_entry(each.get_object());
    if (!source) return std::unexpected(source.error());
    all.push_back(std::move(*source));
  }
  return all;
}

Result<std::vector<ListedSource>> catalogue() {
  return read_catalogue(catalogue_text());
}

bool matches(const ListedSource& source, std::string_view word) {
  const std::string wanted = lower(word);
  auto contains = [&](std::string_view text) { return lower(text).find(wanted) != std::string::npos; };
  return contains(source.name) || contains(source.what) || std::ranges::any_of(source.languages(), contains);
}

json::object to_json(const ListedSource& source) {
  const auto languages = source.languages();
  const auto commands = source.fetch_commands();
  return {{"name", source.name},
          {"kind", to_string(source.kind)},
          {"pin", source.pin},
          {"archive", text_or_null(source.archive)},
          {"sha256", text_or_null(source.sha256)},
          {"url", text_or_null(source.url)},
          {"licence", source.licence},
          {"languages", json::array(languages.begin(), languages.end())},
          {"kernels",
           {{"triton", source.kernels.triton},
            {"cuda", source.kernels.cuda},
            {"pytorch", source.kernels.pytorch}}},
          {"left_out", source.left_out},
          {"what", source.what},
          {"fetch", json::array(commands.begin(), commands.end())},
          {"build", source.build_command()}};
}

}  // namespace kw::fetch
