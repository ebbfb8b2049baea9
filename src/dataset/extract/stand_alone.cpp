#include "dataset/extract/stand_alone.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "dataset/extract/context.h"

namespace kw::harvest {
namespace {

using NameList = std::vector<std::string>;
using ItemAt = std::pair<std::size_t, std::size_t>;  // file, item

// "Vec" of the specialisation "Vec<float>".
std::string plain(const std::string& name) {
  return name.substr(0, name.find('<'));
}

// A struct's item ends before its semicolon.
std::string item_text(std::string_view bytes, corpus::Span span) {
  std::string text(bytes.substr(span.begin, span.end - span.begin));
  const std::size_t next = bytes.find_first_not_of(" \t\r\n", span.end);
  return next != bytes.npos && bytes[next] == ';' && !text.ends_with(';') ? text + ";" : text;
}

class CudaGatherer {
 public:
  explicit CudaGatherer(const Files& files) : files_(files) {
    for (std::size_t file = 0; file < files.size(); ++file)
      for (std::size_t i = 0; i < files[file]->cuda.items.size(); ++i)
        items_[plain(files[file]->cuda.items[i].name)].emplace_back(file, i);
  }

  StandAlone run(const NameList& names, const NameList& given) {
    seen_.insert(given.begin(), given.end());
    for (const std::string& name : names)
      if (!items_.contains(name)) got_.missing.push_back(name);
    std::deque<const NameList*> open{&names};
    for (; !open.empty(); open.pop_front())
      for (const std::string& name : *open.front()) follow(name, open);
    std::ranges::sort(got_.missing);
    write();
    return std::move(got_);
  }

 private:
  void follow(const std::string& name, std::deque<const NameList*>& open) {
    auto named = items_.find(name);
    if (named == items_.end() || !seen_.insert(name).second) return;
    for (const ItemAt& at : named->second)
      if (chosen_.insert(at).second) open.push_back(&files_[at.first]->cuda.items[at.second].uses);
  }

  // Whether the line includes one of the files.
  bool is_own(const std::string& line) const {
    return std::ranges::any_of(files_, [&](const auto& file) {
      const std::string& path = file->source.path;
      const std::string name = path.substr(path.rfind('/') + 1) + "\"";
      return line.contains('"' + name) || (line.contains('"') && line.contains('/' + name));
    });
  }

  void write() {
    std::set<std::string> includes;
    std::set<std::size_t> shown;
    for (const auto& [file, item] : chosen_) shown.insert(file);
    for (std::size_t file : shown)
      for (const std::string& line : files_[file]->cuda.includes)
        if (!is_own(line) && includes.insert(line).second) got_.includes.push_back(line);
    for (const auto& [file, item] : chosen_)
      got_.text += (got_.text.empty() ? "" : "\n") +
                   item_text(files_[file]->source.bytes, files_[file]->cuda.items[item].span) + "\n";
  }

  const Files& files_;
  std::map<std::string, std::vector<ItemAt>> items_;
  std::set<std::string> seen_;
  std::set<ItemAt> chosen_;  // in the order of the files, then of the source
  StandAlone got_;
};

}  // namespace

StandAlone stand_alone(const std::vector<std::shared_ptr<const ParsedFile>>& files, const NameList& names,
                       const NameList& given) {
  if (files.empty()) return {.text = "", .includes = {}, .missing = names};
  if (files.front()->language == Language::cuda) return CudaGatherer(files).run(names, given);
  Context context = context_of_names(Modules(files), files, names, given);
  return {.text = std::move(context.text), .includes = {}, .missing = std::move(context.missing)};
}

}  // namespace kw::harvest
