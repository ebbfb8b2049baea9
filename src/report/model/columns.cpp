#include "report/model/columns.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/core/text.h"

namespace kw::report {
namespace json = boost::json;
namespace {

template <typename Column>
json::array values_of(const Column& column) {
  json::array values;
  values.reserve(column.size());
  for (std::size_t row = 0; row < column.size(); ++row) {
    if (column.is_null(row))
      values.emplace_back(nullptr);
    else
      values.emplace_back(*column[row]);
  }
  return values;
}

}  // namespace

WordColumn& WordColumn::operator=(const WordColumn& other) {
  if (this == &other) return *this;
  numbers_.clear();
  words_.clear();
  for (const std::string* word : other.words_)
    words_.push_back(&numbers_.emplace(*word, static_cast<std::int32_t>(words_.size())).first->first);
  at_ = other.at_;
  return *this;
}

void WordColumn::set(std::size_t row, std::string_view text) {
  if (text.empty()) {
    at_[row] = -1;
    return;
  }
  if (!is_utf8(text)) return set(row, to_utf8(text));
  auto found = numbers_.find(text);
  if (found == numbers_.end()) {
    found = numbers_.emplace(std::string(text), static_cast<std::int32_t>(words_.size())).first;
    words_.push_back(&found->first);
  }
  at_[row] = found->second;
}

void WordColumn::add_from(const WordColumn& other, std::size_t row) {
  add();
  set(size() - 1, other[row]);
}

void WordColumn::change(const std::function<std::string(std::string_view)>& changed) {
  std::map<std::string, std::int32_t, std::less<>> numbers;
  std::map<std::string, std::size_t> used;
  std::vector<const std::string*> words;
  for (const std::string* word : words_) {
    std::string now = changed(*word);
    auto number = static_cast<std::int32_t>(words.size());
    auto stored = numbers.try_emplace(now, number);
    while (!stored.second) stored = numbers.try_emplace(fmt::format("{} ({})", now, ++used[now] + 1), number);
    words.push_back(&stored.first->first);
  }
  numbers_ = std::move(numbers);
  words_ = std::move(words);
}

json::value WordColumn::to_json() const {
  json::array words;
  for (const std::string* word : words_) words.emplace_back(*word);
  json::array at;
  at.reserve(at_.size());
  for (std::int32_t number : at_) at.emplace_back(number);
  return json::object{{"words", std::move(words)}, {"at", std::move(at)}};
}

void TextColumn::set(std::size_t row, std::string_view text) {
  texts_[row] = is_utf8(text) ? std::string(text) : to_utf8(text);
}

json::value TextColumn::to_json() const {
  json::array values;
  values.reserve(texts_.size());
  for (const std::string& text : texts_) values.push_back(text.empty() ? json::value() : json::value(text));
  return values;
}

json::value NumberColumn::to_json() const {
  return values_of(*this);
}

json::value WholeColumn::to_json() const {
  return values_of(*this);
}

json::value FlagColumn::to_json() const {
  return values_of(*this);
}

}  // namespace kw::report
