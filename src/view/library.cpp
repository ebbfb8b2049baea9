#include "view/library.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/json/object.hpp>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/database/database.h"

namespace kw::view {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t most_shown = 8;         // models in memory
constexpr std::size_t most_entries = 20'000;  // of a folder that are looked at
constexpr int deepest = 3;

std::string modified_at(const fs::path& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return {};
  return utc_text(facts.st_mtim.tv_sec);
}

// The times and sizes of an input's files: equal while nothing was written.
std::string signature_of(const fs::path& path) {
  std::string signature;
  for (const char* below : {"", "run.db", "run.db-wal", "ANALYSIS.json"}) {
    struct stat facts{};
    if (::stat((*below == '\0' ? path : path / below).c_str(), &facts) != 0) continue;
    signature += fmt::format("{} {}.{};", facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
  }
  // A killed program changes no file of its run.
  return sqlite::is_in_use(path / "run.db") ? signature + "in use" : signature;
}

json::object to_json(const RunFacts& run) {
  return {{"path", run.path},
          {"name", run.name},
          {"kind", run.kind},
          {"state", text_or_null(run.state)},
          {"rows", value_or_null(run.rows)},
          {"right", value_or_null(run.right)},
          {"modified_at", text_or_null(run.modified_at)}};
}

// Looks through a folder. Follows no symbolic link, so that everything it finds lies in the folder.
template <typename Listed, typename Describe>
class Scan {
 public:
  Scan(const fs::path& folder, const Listed& known, const Describe& describe)
      : folder_(folder), known_(known), describe_(describe) {}

  Listed take() {
    enter(folder_, 1);
    return std::move(found_);
  }

 private:
  void enter(const fs::path& folder, int depth) {
    std::error_code error;
    for (fs::directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end;
         !error && at != end && looked_at_ < most_entries; at.increment(error)) {
      ++looked_at_;
      std::error_code gone;
      auto status = at->symlink_status(gone);
      bool is_folder = fs::is_directory(status);
      if (gone || (!is_folder && !fs::is_regular_file(status))) continue;
      if (at->path().filename().string().starts_with('.') || !is_utf8(at->path().string())) continue;
      if (!add(at->path()) && is_folder && depth < deepest) enter(at->path(), depth + 1);
    }
  }

  bool add(const fs::path& path) {
    std::string relative = path.lexically_relative(folder_).string();
    std::string signature = signature_of(path);
    if (auto known = known_.find(relative); known != known_.end() && known->second.signature == signature)
      return found_.emplace(relative, known->second).first->second.facts.has_value();
    auto facts = describe_(path.string());
    if (facts) {
      facts->path = relative;
      std::error_code ignored;
      facts->modified_at = modified_at(fs::exists(path / "run.db", ignored) ? path / "run.db" : path);
    }
    const bool is_input = facts.has_value();
    found_.insert_or_assign(relative, typename Listed::mapped_type{signature, std::move(facts)});
    return is_input;
  }

  const fs::path& folder_;
  const Listed& known_;
  const Describe& describe_;
  Listed found_;
  std::size_t looked_at_ = 0;
};

}  // namespace

Library::~Library() {
  scanner_.close();
}

Result<std::unique_ptr<Library>> Library::open(async::Loop& loop, ModelReader reader,
                                               const std::vector<std::string>& paths) {
  std::vector<std::string> absolute;
  for (const std::string& path : paths) {
    std::error_code error;
    fs::path found = fs::canonical(path, error);
    if (error)
      return fail(fmt::format("cannot open {}: {}", path, error.message()),
                  "name a run, a file of traces or verdicts, a score, a data set, or a folder of these");
    absolute.push_back(found.string());
  }
  auto library = std::unique_ptr<Library>(new Library(loop, std::move(reader)));
  std::error_code ignored;
  std::vector<std::string> inputs;
  for (const std::string& path : absolute) {
    if (!fs::is_directory(path, ignored) || library->reader_.describe(path)) {
      inputs.push_back(path);
      continue;
    }
    if (absolute.size() == 1) {
      library->folder_ = path;
      return library;
    }
    auto found = library->reader_.inputs_in(path);
    if (!found) return std::unexpected(found.error());
    std::ranges::move(*found, std::back_inserter(inputs));
  }
  library->show("", std::move(inputs));
  return library;
}

std::shared_ptr<Live> Library::show(const std::string& run, std::vector<std::string> paths) {
  auto model = reader_.make(paths);
  shown_.push_front({run, std::make_shared<Live>(loop_, std::move(model), std::move(paths))});
  // A model that is dropped here lives until the last request for it has ended.
  while (shown_.size() > most_shown) {
    shown_.back().live->stop();
    shown_.pop_back();
  }
  return shown_.front().live;
}

async::Task<Result<>> Library::list() {
  listed_ = co_await scanner_.result_of<Listed>(
      [this, known = listed_] { return Scan<Listed, DescribeRun>(folder_, known, reader_.describe).take(); });
  co_return Result<>();
}

bool Library::is_listed(const std::string& run) const {
  auto found = listed_.find(run);
  return found != listed_.end() && found->second.facts;
}

async::Task<Result<json::array>> Library::runs() {
  if (auto listed = co_await list(); !listed) co_return std::unexpected(listed.error());
  json::array runs;
  for (const auto& [path, described] : listed_)
    if (described.facts) runs.push_back(to_json(*described.facts));
  co_return runs;
}

async::Task<Result<std::shared_ptr<Live>>> Library::find(std::string run) {
  auto shown = std::ranges::find(shown_, run, &Shown::run);
  if (shown != shown_.end()) {
    shown_.splice(shown_.begin(), shown_, shown);
    co_return shown_.front().live;
  }
  if (folder_.empty() || run.empty()) co_return nullptr;
  if (!is_listed(run))
    if (auto listed = co_await list(); !listed) co_return std::unexpected(listed.error());
  if (!is_listed(run)) co_return nullptr;
  // Another request may have opened it meanwhile.
  if (auto again = std::ranges::find(shown_, run, &Shown::run); again != shown_.end()) co_return again->live;
  co_return show(run, {(folder_ / run).string()});
}

async::Task<> Library::look() {
  std::vector<std::shared_ptr<Live>> all;
  for (const Shown& each : shown_) all.push_back(each.live);
  for (const std::shared_ptr<Live>& each : all)
    if (each->is_due()) co_await each->look();
}

void Library::stop() {
  for (const Shown& each : shown_) each.live->stop();
}

}  // namespace kw::view
