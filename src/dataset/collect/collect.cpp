#include "dataset/collect/collect.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/core/crypto.h"
#include "base/core/text.h"
#include "dataset/collect/archive.h"
#include "dataset/collect/origin.h"
#include "dataset/collect/readers.h"

namespace kw::collect {
namespace {

namespace fs = std::filesystem;
using corpus::Origin;
using corpus::OriginKind;

std::string folder_name(const std::string& path) {
  std::error_code error;
  fs::path whole = fs::weakly_canonical(path, error);
  if (error) whole = path;
  return to_plain_text(whole.filename().string());
}

Origin folder_origin(const std::string& path) {
  Origin origin{.kind = OriginKind::folder,
                .name = folder_name(path),
                .version = {},
                .commit = {},
                .sha256 = {},
                .url = {},
                .stars = std::nullopt};
  if (auto checkout = read_checkout(path)) {
    origin.kind = OriginKind::git;
    origin.commit = checkout->commit;
    origin.url = checkout->url;
    if (std::string name = repository_name(origin.url); !name.empty()) origin.name = name;
  }
  return origin;
}

Origin archive_origin(const std::string& path, std::string_view bytes) {
  const PackageNames names = names_of_file(path);
  return {.kind = path.ends_with(".whl") ? OriginKind::wheel : OriginKind::archive,
          .name = names.name,
          .version = names.version,
          .commit = {},
          .sha256 = sha256_hex(bytes),
          .url = {},
          .stars = std::nullopt};
}

Result<bool> is_folder(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return fail(fmt::format("cannot read {}: no such file or folder", path),
                "give a folder, a checkout or an archive");
  return fs::is_directory(status);
}

Error about(const std::string& path, const Error& error) {
  return {.what = fmt::format("{}: {}", path, error.what), .remedy = error.remedy};
}

Result<Tally> collect_archive(const std::string& path, Gate& gate) {
  auto mapped = MappedFile::open(path);
  if (!mapped) return std::unexpected(mapped.error());
  std::uint64_t unpacked = 0;
  const Packed packed{.bytes = mapped->bytes(), .prefix = {}, .depth = 0, .unpacked = &unpacked};
  auto facts = read_facts(packed, gate.limits());
  if (!facts) return std::unexpected(about(path, facts.error()));
  Origin origin = archive_origin(path, mapped->bytes());
  if (!facts->name.empty()) {
    origin.name = facts->name;
    origin.version = facts->version;
    origin.url = facts->url;
  }
  if (origin.kind == OriginKind::archive && facts->sdist) origin.kind = OriginKind::sdist;
  read_files(packed, origin, facts->tree, gate);
  return gate.tally();
}

}  // namespace

Result<Origin> identify(const std::string& path) {
  const auto folder = is_folder(path);
  if (!folder) return std::unexpected(folder.error());
  if (*folder) return folder_origin(path);
  auto mapped = MappedFile::open(path);
  if (!mapped) return std::unexpected(mapped.error());
  return archive_origin(path, mapped->bytes());
}

Result<Tally> collect(const std::string& path, const Limits& limits, const Sink& sink) {
  const auto folder = is_folder(path);
  if (!folder) return std::unexpected(folder.error());
  Gate gate(limits, sink);
  if (!*folder) return collect_archive(path, gate);
  if (auto read = read_folder(path, folder_origin(path), gate); !read) return std::unexpected(read.error());
  return gate.tally();
}

}  // namespace kw::collect
