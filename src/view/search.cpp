#include "view/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <functional>
#include <set>
#include <vector>

#include "base/core/json.h"
#include "base/core/text.h"
#include "score/report/view.h"

namespace kw::view {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

constexpr auto slice = 30ms;
constexpr std::size_t before_hit = 60;  // bytes of the line that an excerpt shows before the hit
constexpr std::size_t excerpt = 200;    // bytes of an excerpt
constexpr std::size_t most_hits_of_detail = 50;

struct HashFolded {
  std::size_t operator()(char c) const { return static_cast<unsigned char>(lower(c)); }
};
struct EqualFolded {
  bool operator()(char a, char b) const { return lower(a) == lower(b); }
};
using Finder = std::boyer_moore_horspool_searcher<std::string::const_iterator, HashFolded, EqualFolded>;

// Searches a text; the copy of the needle has one address for life.
class Needle {
 public:
  explicit Needle(std::string text) : text_(std::move(text)), finder_(text_.begin(), text_.end()) {}
  Needle(const Needle&) = delete;

  std::size_t in(std::string_view text, std::size_t from) const {
    auto begin = text.begin() + static_cast<std::ptrdiff_t>(std::min(from, text.size()));
    auto found = std::search(begin, text.end(), finder_);
    return found == text.end() ? std::string_view::npos : static_cast<std::size_t>(found - text.begin());
  }
  std::size_t size() const { return text_.size(); }

 private:
  std::string text_;
  Finder finder_;
};

// As the text stands in JSON, without the quotes.
std::string in_json(const std::string& text) {
  std::string quoted = json::serialize(json::string(text));
  return quoted.substr(1, quoted.size() - 2);
}

bool is_middle_of_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

std::string excerpt_of(std::string_view text, std::size_t hit) {
  std::size_t line = hit == 0 ? 0 : text.rfind('\n', hit - 1) + 1;
  std::size_t begin = hit - line > before_hit ? hit - before_hit : line;
  std::size_t end = std::min({text.find('\n', hit), text.size(), begin + excerpt});
  while (is_middle_of_character(text, begin)) ++begin;
  while (end > begin && is_middle_of_character(text, end)) --end;
  return std::string(text.substr(begin, end - begin));
}

// A text of a detail under the name by which the page links to it.
struct Field {
  std::int64_t turn = 0;  // 0: of no turn
  std::string_view name;
  std::string_view text;
};

// The texts of a detail that the page shows: the same ones, under the same names, as its search in a file.
class Fields {
 public:
  static std::vector<Field> of(const json::object& detail) {
    Fields fields;
    scoring::View view(detail);
    fields.add_trace(view["trace"]);
    fields.add_turns(view["trace"]["turns"], view["explained"]);
    fields.add("reference", view["reference_code"]);
    fields.add("code", view["kernel_code"]);
    fields.add_verdict(view["verdict"], view["explained"]);
    const json::value* row = detail.if_contains("row");
    if (row && row->is_object()) fields.add_row(row->get_object());
    return std::move(fields.all_);
  }

 private:
  using View = scoring::View;

  void add(std::string_view name, const json::value* value) {
    if (value && value->is_string()) all_.push_back({turn_, name, value->get_string()});
  }
  void add(std::string_view name, View view) { add(name, view.value()); }

  void add_trace(View trace) {
    add("reference", trace["pytorch_code"]);
    for (View message : trace["prompt"].list()) add("prompt", message["content"]);
    for (View round : trace["other_rounds"].list()) add_turns(round["turns"], round["explained"]);
  }

  void add_turns(View turns, View explained) {
    std::vector<View> words = explained.list();
    std::size_t number = 0;
    for (View turn : turns.list()) {
      turn_ = static_cast<std::int64_t>(turn["turn"].count());
      add("code", turn["triton_code"]);
      add("reasoning", turn["reasoning"]);
      add("completion", turn["full_completion"]);
      add("feedback", turn["feedback_given"]);
      add_verdict(turn["result"], number < words.size() ? words[number] : View(nullptr));
      ++number;
    }
    turn_ = 0;
  }

  void add_verdict(View verdict, View explained) {
    add("error", verdict["error"]);
    add("compiler_text", verdict["error_detail"]["compiler_text"]);
    add("traceback", verdict["error_detail"]["traceback"]);
    add("printed", verdict["printed"]);
    for (View note : explained["notes"].list()) add("note", note);
  }

  void add_row(const json::object& row) {
    for (const auto& [name, value] : row) {
      add(name, &value);
      for (View message : View(value).list()) add(name, message["content"]);
    }
  }

  std::int64_t turn_ = 0;
  std::vector<Field> all_;
};

// Collects the hits of one detail: one a line. A line of an answer that its code has too counts as code
// alone.
class Collector {
 public:
  Collector(const std::string& key, const Needle& needle) : key_(key), needle_(needle) {}

  void add(const Field& field, std::size_t& left, std::string& lines) {
    std::size_t line = 1;
    std::size_t counted = 0;
    for (std::size_t at = needle_.in(field.text, 0); at != field.text.npos; at = after(field.text, at)) {
      if (left == 0 || hits_ >= most_hits_of_detail) return;
      line += newlines(field.text.substr(counted, at - counted));
      counted = at;
      if (!is_new(field, at)) continue;
      lines +=
          json::serialize(json::object{{"key", key_},
                                       {"turn", field.turn > 0 ? json::value(field.turn) : json::value()},
                                       {"field", field.name},
                                       {"line", line},
                                       {"text", excerpt_of(field.text, at)}});
      lines += '\n';
      ++hits_;
      --left;
    }
  }

 private:
  static std::size_t newlines(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }

  // The next hit on another line.
  std::size_t after(std::string_view text, std::size_t at) const {
    std::size_t end = text.find('\n', at);
    return end == text.npos ? end : needle_.in(text, end + 1);
  }

  bool is_new(const Field& field, std::size_t at) {
    if (field.name != "code" && field.name != "completion") return true;
    std::size_t begin = at == 0 ? 0 : field.text.rfind('\n', at - 1) + 1;
    std::size_t end = std::min(field.text.find('\n', at), field.text.size());
    std::string line(trim(field.text.substr(begin, end - begin)));
    if (field.name == "code") return code_.emplace(field.turn, std::move(line)), true;
    return !code_.contains({field.turn, line});
  }

  const std::string& key_;
  const Needle& needle_;
  std::size_t hits_ = 0;
  std::set<std::pair<std::int64_t, std::string>> code_;
};

}  // namespace

struct Search::State {
  State(EditionPtr of, const SearchOptions& options)
      : edition(std::move(of)), raw(in_json(options.text)), decoded(options.text), left(options.limit) {}

  EditionPtr edition;
  Needle raw;      // in the JSON of a detail: most details need no parser
  Needle decoded;  // in its texts
  std::size_t left;
  std::size_t row = 0;
};

Search::Search(EditionPtr edition, const SearchOptions& options)
    : state_(std::make_unique<State>(std::move(edition), options)) {}
Search::~Search() = default;

bool Search::is_done() const {
  return state_->left == 0 || state_->row >= state_->edition->rows.size();
}

Result<std::string> Search::next(Model& model) {
  std::string lines;
  const auto end = std::chrono::steady_clock::now() + slice;
  while (!is_done() && std::chrono::steady_clock::now() < end) {
    const std::string& key = state_->edition->rows[state_->row++].key;
    auto detail = model.detail(key);
    // A row that can no longer be read has nothing to find.
    if (!detail || !*detail || state_->raw.in(**detail, 0) == std::string_view::npos) continue;
    auto value = parse_json(**detail);
    if (!value || !value->is_object()) continue;
    Collector collector(key, state_->decoded);
    for (const Field& field : Fields::of(value->get_object())) collector.add(field, state_->left, lines);
  }
  return lines;
}

}  // namespace kw::view
