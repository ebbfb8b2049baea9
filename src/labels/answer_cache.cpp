#include "labels/answer_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <cerrno>

#include "base/files.h"
#include "base/text.h"
#include "corpus/names.h"
#include "schema/json.h"

namespace kw::labels {
namespace {

namespace json = boost::json;

std::string line_of(const std::string& key, const Answer& answer) {
  json::array built(answer.compiled_for.begin(), answer.compiled_for.end());
  return canonical_json(json::object{{"key", key},
                                     {"compile", corpus::to_string(answer.label)},
                                     {"reason", answer.reason},
                                     {"compiled_for", std::move(built)}}) +
         "\n";
}

}  // namespace

Result<AnswerCache> AnswerCache::open(const std::filesystem::path& path,
                                      const std::vector<std::string>& targets) {
  AnswerCache cache;
  if (path.empty()) return cache;
  cache.path_ = path;
  cache.file_ = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!cache.file_)
    return fail(fmt::format("cannot open {}: {}", path.string(), errno_text(errno)), "check --cache");
  auto text = read_file(path);
  if (!text) return std::unexpected(text.error());
  std::string_view rest = *text;
  // A line that was cut off must not swallow the next one.
  if (!rest.empty() && !rest.ends_with('\n') && ::write(cache.file_.get(), "\n", 1) != 1)
    return fail(fmt::format("cannot write {}: {}", path.string(), errno_text(errno)));
  while (!rest.empty()) {
    std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    auto value = parse_json(line);
    if (!value || !value->is_object()) continue;
    auto key = string_at(value->as_object(), "key");
    auto answer = read_answer(line, targets);
    if (key && answer) cache.answers_.insert_or_assign(*key, std::move(*answer));
  }
  return cache;
}

const Answer* AnswerCache::find(const std::string& key) const {
  auto found = answers_.find(key);
  return found == answers_.end() ? nullptr : &found->second;
}

Result<> AnswerCache::keep(const std::string& key, const Answer& answer) {
  if (!file_) return {};
  std::string line = line_of(key, answer);
  // One write a line: two builds may share the file.
  if (::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return fail(fmt::format("cannot write {}: {}", path_.string(), errno_text(errno)),
                "check that the disk is not full");
  answers_.insert_or_assign(key, answer);
  return {};
}

}  // namespace kw::labels
