#include "dataset/fetch/git_clone.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>

#include "base/core/crypto.h"
#include "base/core/text.h"

namespace kw::fetch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t cache_key_digits = 16;

// Name → object, of lines "OBJECT\tNAME".
std::map<std::string, std::string> references_of(std::string_view listing) {
  std::map<std::string, std::string> all;
  while (!listing.empty()) {
    const std::size_t end = std::min(listing.find('\n'), listing.size());
    const std::string_view line = listing.substr(0, end);
    listing.remove_prefix(std::min(end + 1, listing.size()));
    const std::size_t tab = line.find('\t');
    if (tab != std::string_view::npos && is_full_commit(line.substr(0, tab)))
      all.emplace(line.substr(tab + 1), line.substr(0, tab));
  }
  return all;
}

// The sizes of "MODE blob OBJECT SIZE\tPATH", separated by NUL.
std::uint64_t bytes_of_tree(std::string_view listing) {
  std::uint64_t sum = 0;
  while (!listing.empty()) {
    const std::size_t end = std::min(listing.find('\0'), listing.size());
    std::string_view facts = listing.substr(0, std::min(listing.find('\t'), end));
    listing.remove_prefix(std::min(end + 1, listing.size()));
    facts.remove_prefix(std::min(facts.rfind(' ') + 1, facts.size()));
    std::uint64_t bytes = 0;  // stays 0 for "-", the size of a submodule
    std::from_chars(facts.data(), facts.data() + facts.size(), bytes);
    sum += bytes;
  }
  return sum;
}

// A folder in the cache that the destructor removes unless it was kept.
class Part {
 public:
  static Result<Part> make(const fs::path& given) {
    std::error_code error;
    fs::create_directories(given, error);
    const fs::path cache = error ? given : fs::canonical(given, error);
    std::string name = (cache / ".part-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr)
      return fail(fmt::format("cannot make a folder in {}", cache.string()),
                  "check its free space and permissions");
    return Part(name);
  }
  Part(Part&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Part& operator=(Part&&) = delete;
  ~Part() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }
  Result<> keep_as(const fs::path& target) {
    std::error_code error;
    fs::rename(path_, target, error);
    if (error) return fail(fmt::format("cannot make {}: {}", target.string(), error.message()));
    path_.clear();
    return {};
  }

 private:
  explicit Part(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

class Cloning {
 public:
  Cloning(const GitSource& source, const CloneSettings& settings, fs::path part)
      : source_(source),
        settings_(settings),
        part_(std::move(part)),
        git_({.is_local = source.is_local,
              .limits = settings.limits,
              .folder = part_,
              .stop = settings.stop}) {}

  Result<std::string> commit() const {
    const std::string& revision = source_.revision;
    if (is_full_commit(revision)) return revision;
    std::vector<std::string> arguments{"ls-remote", "--", source_.url};
    if (revision.empty())
      arguments.emplace_back("HEAD");
    else
      for (const char* place : {"refs/heads/", "refs/tags/"}) arguments.push_back(place + revision);
    if (!revision.empty()) arguments.push_back(fmt::format("refs/tags/{}^{{}}", revision));
    auto listing = git_.run(arguments);
    if (!listing) return std::unexpected(listing.error());
    return choose(references_of(*listing));
  }

  Result<> check_out(const std::string& commit) const {
    const std::string folder = (part_ / source_.name()).string();
    const std::string format = commit.size() == 64 ? "sha256" : "sha1";
    // No template: it may contain hooks.
    auto made = git_.run({"init", "--quiet", "--template=", "--object-format=" + format, "--", folder});
    if (!made) return std::unexpected(made.error());
    if (auto set = in(folder, {"config", "remote.origin.url", source_.url}); !set)
      return std::unexpected(set.error());
    if (auto fetched = fetch(folder, commit); !fetched) return fetched;
    auto kind = in(folder, {"cat-file", "-t", commit});
    if (!kind) return fail(fmt::format("it has no commit {}", commit));
    if (trim(*kind) != "commit") return fail(fmt::format("{} is a {}, no commit", commit, trim(*kind)));
    auto tree = in(folder, {"ls-tree", "-r", "-l", "-z", commit});
    if (!tree) return std::unexpected(tree.error());
    if (const std::uint64_t bytes = bytes_of_tree(*tree); bytes > settings_.limits.bytes)
      return fail(fmt::format("its files have {} bytes, more than {}", bytes, settings_.limits.bytes));
    auto done = in(folder, {"checkout", "--quiet", "--detach", "--no-recurse-submodules", commit, "--"});
    if (!done) return std::unexpected(done.error());
    return {};
  }

 private:
  Result<std::string> in(const std::string& folder, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"-C", folder});
    return git_.run(arguments);
  }

  Result<std::string> choose(const std::map<std::string, std::string>& references) const {
    const std::string& revision = source_.revision;
    auto at = [&](const std::string& name) {
      auto found = references.find(name);
      return found == references.end() ? std::string() : found->second;
    };
    if (revision.empty()) {
      if (std::string head = at("HEAD"); !head.empty()) return head;
      return fail("it has no HEAD", "name a commit, a branch or a tag: URL@COMMIT");
    }
    const std::string branch = at("refs/heads/" + revision);
    std::string tag = at(fmt::format("refs/tags/{}^{{}}", revision));  // the commit of an annotated tag
    if (tag.empty()) tag = at("refs/tags/" + revision);
    if (branch.empty() && tag.empty())
      return fail(fmt::format("it has no branch and no tag {}", revision),
                  "give an existing one, or the 40 digits of a commit");
    if (!branch.empty() && !tag.empty() && branch != tag)
      return fail(fmt::format("{} is a branch at {} and a tag at {}", revision, branch, tag),
                  "give one of these commits");
    return tag.empty() ? branch : tag;
  }

  // A server may refuse a commit that is no branch or tag now: then all branches and tags are fetched.
  Result<> fetch(const std::string& folder, const std::string& commit) const {
    const std::vector<std::string> common{"fetch", "--quiet", "--no-recurse-submodules",
                                          "--no-write-fetch-head"};
    std::vector<std::string> alone = common;
    alone.insert(alone.end(), {"--depth=1", "--no-tags", "--", source_.url, commit});
    auto fetched = in(folder, alone);
    if (fetched) return {};
    if (fetched.error().what.find("unadvertised") == std::string::npos)
      return absent(fetched.error(), commit);
    std::vector<std::string> all = common;
    all.insert(all.end(), {"--tags", "--", source_.url, "+refs/heads/*:refs/remotes/origin/*"});
    if (auto whole = in(folder, all); !whole) return std::unexpected(whole.error());
    return {};
  }

  static Result<> absent(const Error& error, const std::string& commit) {
    if (error.what.find("not our ref") == std::string::npos) return std::unexpected(error);
    return fail(fmt::format("it has no commit {}", commit), "check the commit, or name a branch or a tag");
  }

  const GitSource& source_;
  const CloneSettings& settings_;
  fs::path part_;
  Git git_;
};

// A folder of the cache for each URL and commit; in it a checkout with the name of the repository.
fs::path place_of(const GitSource& source, const std::string& commit, const fs::path& cache) {
  return cache / sha256_hex_of({source.url, commit}).substr(0, cache_key_digits);
}

Result<Clone> clone_of(const GitSource& source, const CloneSettings& settings) {
  auto part = Part::make(settings.cache);
  if (!part) return std::unexpected(part.error());
  const Cloning cloning(source, settings, part->path());
  auto commit = cloning.commit();
  if (!commit) return std::unexpected(commit.error());
  const fs::path place = place_of(source, *commit, settings.cache);
  Clone clone{.folder = place / source.name(), .commit = *commit, .pinned = source.url + "@" + *commit};
  std::error_code error;
  if (fs::is_directory(clone.folder, error)) return clone;
  if (auto done = cloning.check_out(*commit); !done) return std::unexpected(done.error());
  if (auto kept = part->keep_as(place); !kept) return std::unexpected(kept.error());
  return clone;
}

}  // namespace

Result<Clone> clone(const GitSource& source, const CloneSettings& settings) {
  auto made = clone_of(source, settings);
  if (made || made.error().what == "interrupted") return made;
  return fail(fmt::format("cannot clone {}: {}", source.url, made.error().what), made.error().remedy);
}

}  // namespace kw::fetch
