// Kinds of option values. A kind reads, writes and describes values on the command line and in JSON.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "types/options.h"

namespace kw::kinds {

// The fault of a value, and the field within it, which is usually empty.
struct Wrong {
  std::string why;
  std::string field{};
};
template <typename T>
using Read = std::expected<T, Wrong>;

struct Whole {
  std::uint64_t least;
  std::uint64_t most;

  Result<std::uint64_t> parse(const std::string& text) const;
  std::string text(std::uint64_t value) const;
  Read<std::uint64_t> from_json(const boost::json::value& value) const;
  boost::json::value to_json(std::uint64_t value) const { return value; }
  std::string values() const;
  std::vector<std::string> words() const { return {}; }
  boost::json::object schema() const;
  std::string python() const { return "int"; }
};

// From 0 to 1.
struct Share {
  Result<double> parse(const std::string& text) const;
  std::string text(double value) const;
  Read<double> from_json(const boost::json::value& value) const;
  boost::json::value to_json(double value) const { return value; }
  std::string values() const { return "0 to 1"; }
  std::vector<std::string> words() const { return {}; }
  boost::json::object schema() const;
  std::string python() const { return "float"; }
};

struct Seconds {
  double most;

  Result<std::chrono::milliseconds> parse(const std::string& text) const;
  std::string text(std::chrono::milliseconds value) const;
  Read<std::chrono::milliseconds> from_json(const boost::json::value& value) const;
  boost::json::value to_json(std::chrono::milliseconds value) const;
  std::string values() const;
  std::vector<std::string> words() const { return {}; }
  boost::json::object schema() const;
  std::string python() const { return "float"; }
};

struct Bytes {
  std::uint64_t least;

  Result<std::uint64_t> parse(const std::string& text) const;
  std::string text(std::uint64_t value) const;
  boost::json::value to_json(std::uint64_t value) const { return value; }
  std::string values() const;
  std::vector<std::string> words() const { return {}; }
};

struct Text {
  Result<std::string> parse(const std::string& text) const { return text; }
  std::string text(const std::string& value) const { return value; }
  boost::json::value to_json(const std::string& value) const;
  std::string values() const { return "a path"; }
  std::vector<std::string> words() const { return {}; }
};

// A flag without a value.
struct Switch {
  Result<bool> parse(const std::string& text) const;
  std::string text(bool value) const { return value ? "true" : "false"; }
  boost::json::value to_json(bool value) const { return value; }
  std::string values() const { return "given or not"; }
  std::vector<std::string> words() const { return {}; }
};

class Choice {
 public:
  template <typename... Words>
  explicit Choice(Words... words) : words_{words...} {}

  Result<std::string> parse(const std::string& text) const;
  std::string text(const std::string& value) const { return value; }
  Read<std::string> from_json(const boost::json::value& value) const;
  boost::json::value to_json(const std::string& value) const;
  std::string values() const;
  std::vector<std::string> words() const { return words_; }
  boost::json::object schema() const;
  std::string python() const;

 private:
  std::vector<std::string> words_;
};

// True or false in JSON, and one word for each on the command line.
class EitherWord {
 public:
  EitherWord(std::string yes, std::string no, std::vector<std::string> also_yes = {})
      : yes_(std::move(yes)), no_(std::move(no)), also_yes_(std::move(also_yes)) {}

  Result<bool> parse(const std::string& text) const;
  std::string text(bool value) const { return value ? yes_ : no_; }
  Read<bool> from_json(const boost::json::value& value) const;
  boost::json::value to_json(bool value) const { return value; }
  std::string values() const;
  std::vector<std::string> words() const { return {yes_, no_}; }
  boost::json::object schema() const;
  std::string python() const { return "bool"; }

 private:
  std::string yes_;
  std::string no_;
  std::vector<std::string> also_yes_;
};

// The two kinds of trust that a speed can have.
struct TrustWord {
  Result<Trust> parse(const std::string& text) const;
  std::string text(Trust value) const;
  boost::json::value to_json(Trust value) const;
  std::string values() const;
  std::vector<std::string> words() const { return {"in-process", "replay"}; }
};

// "bounds,memcheck", each once and in the order of the enumeration, or "none": an array in JSON.
struct Sanitizers {
  Result<std::vector<Sanitizer>> parse(const std::string& text) const;
  std::string text(const std::vector<Sanitizer>& value) const;
  Read<std::vector<Sanitizer>> from_json(const boost::json::value& value) const;
  boost::json::value to_json(const std::vector<Sanitizer>& value) const;
  std::string values() const;
  std::vector<std::string> words() const;
  boost::json::object schema() const;
  std::string python() const;
};

// "auto", "cpu", "cuda", "cuda:N".
struct Devices {
  Result<DeviceChoice> parse(const std::string& text) const;
  std::string text(const DeviceChoice& value) const;
  boost::json::value to_json(const DeviceChoice& value) const;
  std::string values() const;
  std::vector<std::string> words() const {
    return {enum_words<DeviceKind>.begin(), enum_words<DeviceKind>.end()};
  }
};

// A name, or "rtol=1e-3,atol=1e-4" (both, in either order): {"rtol": 1e-3, "atol": 1e-4} in JSON.
struct ToleranceRule {
  Result<ToleranceOption> parse(const std::string& text) const;
  std::string text(const ToleranceOption& value) const;
  Read<ToleranceOption> from_json(const boost::json::value& value) const;
  boost::json::value to_json(const ToleranceOption& value) const;
  std::string values() const;
  std::vector<std::string> words() const;
  boost::json::object schema() const;
  std::string python() const;
};

}  // namespace kw::kinds
