// Columns of a table: one value or null for each row. Texts that repeat are stored once. Invalid UTF-8
// becomes U+FFFD.
#pragma once

#include <boost/json/value.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kw::report {

// Texts that repeat. An empty text is null.
class WordColumn {
 public:
  WordColumn() = default;
  WordColumn(const WordColumn& other) { *this = other; }
  WordColumn(WordColumn&&) = default;
  WordColumn& operator=(const WordColumn& other);
  WordColumn& operator=(WordColumn&&) = default;
  ~WordColumn() = default;

  std::size_t size() const { return at_.size(); }
  void add() { at_.push_back(-1); }
  void set(std::size_t row, std::string_view text);
  void add_from(const WordColumn& other, std::size_t row);
  // Changes each word. Words that become equal get numbers, so that different values stay different.
  void change(const std::function<std::string(std::string_view)>& changed);

  bool is_null(std::size_t row) const { return at_[row] < 0; }
  // Empty for null.
  std::string_view operator[](std::size_t row) const {
    return at_[row] < 0 ? std::string_view() : std::string_view(*words_[static_cast<std::size_t>(at_[row])]);
  }
  // {"words": [...], "at": [...]}
  boost::json::value to_json() const;

 private:
  std::map<std::string, std::int32_t, std::less<>> numbers_;
  std::vector<const std::string*> words_;  // keys of numbers_, which do not move
  std::vector<std::int32_t> at_;
};

// Texts that are mostly unique. An empty text is null.
class TextColumn {
 public:
  std::size_t size() const { return texts_.size(); }
  void add() { texts_.emplace_back(); }
  void set(std::size_t row, std::string_view text);
  void add_from(const TextColumn& other, std::size_t row) { texts_.push_back(other.texts_[row]); }

  bool is_null(std::size_t row) const { return texts_[row].empty(); }
  const std::string& operator[](std::size_t row) const { return texts_[row]; }
  boost::json::value to_json() const;

 private:
  std::vector<std::string> texts_;
};

// Finite numbers; anything else is null.
class NumberColumn {
 public:
  std::size_t size() const { return values_.size(); }
  void add() { values_.push_back(std::numeric_limits<double>::quiet_NaN()); }
  void set(std::size_t row, std::optional<double> value) {
    values_[row] = value && std::isfinite(*value) ? *value : std::numeric_limits<double>::quiet_NaN();
  }
  void add_from(const NumberColumn& other, std::size_t row) { values_.push_back(other.values_[row]); }

  bool is_null(std::size_t row) const { return std::isnan(values_[row]); }
  std::optional<double> operator[](std::size_t row) const {
    return is_null(row) ? std::nullopt : std::optional(values_[row]);
  }
  boost::json::value to_json() const;

 private:
  std::vector<double> values_;
};

class WholeColumn {
 public:
  std::size_t size() const { return values_.size(); }
  void add() { values_.push_back(null); }
  void set(std::size_t row, std::optional<std::int64_t> value) { values_[row] = value.value_or(null); }
  void add_from(const WholeColumn& other, std::size_t row) { values_.push_back(other.values_[row]); }

  bool is_null(std::size_t row) const { return values_[row] == null; }
  std::optional<std::int64_t> operator[](std::size_t row) const {
    return is_null(row) ? std::nullopt : std::optional(values_[row]);
  }
  boost::json::value to_json() const;

 private:
  static constexpr std::int64_t null = std::numeric_limits<std::int64_t>::min();
  std::vector<std::int64_t> values_;
};

class FlagColumn {
 public:
  std::size_t size() const { return values_.size(); }
  void add() { values_.push_back(-1); }
  void set(std::size_t row, std::optional<bool> value) {
    values_[row] = value ? static_cast<std::int8_t>(*value) : std::int8_t{-1};
  }
  void add_from(const FlagColumn& other, std::size_t row) { values_.push_back(other.values_[row]); }

  bool is_null(std::size_t row) const { return values_[row] < 0; }
  std::optional<bool> operator[](std::size_t row) const {
    return is_null(row) ? std::nullopt : std::optional(values_[row] == 1);
  }
  boost::json::value to_json() const;

 private:
  std::vector<std::int8_t> values_;
};

}  // namespace kw::report
