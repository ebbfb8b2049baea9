#include "documents/html_regions.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/ascii.h"
#include "documents/html_tags.h"
#include "documents/lines.h"

namespace kw::documents {
namespace {

constexpr std::size_t none = std::string_view::npos;
constexpr std::size_t tags_before = 4;
constexpr std::size_t most_attributes = 30;
constexpr std::size_t longest_tag = 2048;
constexpr std::array<std::string_view, 6> passed_over = {"script", "style",    "textarea",
                                                         "title",  "template", "svg"};

class Finder {
 public:
  explicit Finder(std::string_view html) : html_(html) {}

  std::vector<CodeRegion> find() {
    for (std::size_t at = html_.find('<'); at != none; at = at == none ? none : html_.find('<', at)) {
      if (html_.substr(at).starts_with("<!--"))
        at = after_comment(at);
      else if (auto tag = tag_at(html_, at))
        at = after_tag(*tag);
      else
        ++at;
    }
    return std::move(found_);
  }

 private:
  std::size_t after_comment(std::size_t at) const {
    std::size_t end = html_.find("-->", at + 4);
    return end == none ? none : end + 3;
  }

  // The element's end tag, whatever stands before it; nothing more of that name when there is none.
  std::optional<Tag> end_of(const Tag& tag) const {
    std::size_t length = tag.name.size();
    for (std::size_t at = html_.find("</", tag.end); at != none; at = html_.find("</", at + 2)) {
      if (!iequals(html_.substr(at + 2, length), tag.name)) continue;
      auto end = tag_at(html_, at);
      if (end && end->end == none) return {};
      if (end && end->name.size() == length) return end;
    }
    return {};
  }

  std::size_t after_tag(const Tag& tag) {
    if (tag.end == none) return none;
    bool pre = iequals(tag.name, "pre");
    if (!tag.closes && (pre || iequals(tag.name, "code"))) return after_code(tag, pre);
    if (tag.closes) {
      before_.clear();
      return tag.end;
    }
    bool over =
        std::ranges::any_of(passed_over, [&](std::string_view name) { return iequals(tag.name, name); });
    if (over) {
      auto end = end_of(tag);
      return end ? end->end : none;
    }
    remember(tag);
    return tag.end;
  }

  bool follows(const Tag& tag) const {
    return !before_.empty() && is_blank(html_.substr(before_.back().end, tag.begin - before_.back().end));
  }

  // Tags that follow one another with nothing but blanks between them.
  void remember(const Tag& tag) {
    if (!follows(tag)) before_.clear();
    if (tag.attributes > most_attributes || tag.end - tag.begin > longest_tag) return;
    if (before_.size() == tags_before) before_.erase(before_.begin());
    before_.push_back({tag.begin, tag.end});
  }

  std::size_t after_code(const Tag& tag, bool pre) {
    if (!pre && no_more_code_) return tag.end;
    auto end = end_of(tag);
    if (!end) {
      no_more_code_ = true;
      return pre ? none : tag.end;
    }
    corpus::Span before{tag.begin, tag.begin};
    if (follows(tag)) before.begin = before_.front().begin;
    before_.clear();
    if (pre || html_.substr(tag.end, end->begin - tag.end).find('\n') != none)
      found_.push_back({{tag.begin, end->end}, before});
    return end->end;
  }

  std::string_view html_;
  bool no_more_code_ = false;
  std::vector<corpus::Span> before_;
  std::vector<CodeRegion> found_;
};

}  // namespace

std::vector<CodeRegion> code_regions(std::string_view html) {
  return Finder(html).find();
}

}  // namespace kw::documents
