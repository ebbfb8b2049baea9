// Timeline: spans of a program's work with their times, in a file of the Trace Event Format. Perfetto
// (ui.perfetto.dev), chrome://tracing and Speedscope show it.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/files.h"
#include "base/core/result.h"

namespace kw {

// The file is complete after every span, so that it can be read while the program runs and after its death.
// One thread uses it.
class Timeline {
 public:
  using Clock = std::chrono::steady_clock;

  // A line of the picture. Its spans follow one another or are nested. One without a timeline keeps nothing.
  class Row {
   public:
    Row() = default;
    Row(Row&&) noexcept = default;
    Row& operator=(Row&&) = delete;
    ~Row();

    explicit operator bool() const { return timeline_ != nullptr; }
    // A span from `since` until now, with facts that the viewer shows.
    void add(std::string_view name, Clock::time_point since, const boost::json::object& facts = {}) const;

   private:
    friend class Timeline;
    Row(std::shared_ptr<Timeline> timeline, std::size_t group, std::size_t number)
        : timeline_(std::move(timeline)), group_(group), number_(number) {}

    std::shared_ptr<Timeline> timeline_;
    std::size_t group_ = 0;
    std::size_t number_ = 0;
  };

  // A span of its own lifetime.
  class Span {
   public:
    Span(const Row& row, std::string_view name) : row_(row), name_(name) {}
    ~Span() { row_.add(name_, since_); }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    const Row& row_;
    std::string_view name_;
    Clock::time_point since_ = Clock::now();
  };

  // Replaces the file. Times count from now.
  static Result<std::shared_ptr<Timeline>> create(const std::filesystem::path& file);

  // The first row of the group that nobody holds; a group comes into being with its first row. Null
  // timeline: a row that keeps nothing.
  static Row row(const std::shared_ptr<Timeline>& timeline, std::string_view group);

  // Ends the file. The error is that of the first write that failed; no later span was written then.
  Result<> finish();

 private:
  struct Group {
    std::string name;
    std::set<std::size_t> held;  // numbers of rows
  };

  Timeline(std::filesystem::path file, Fd fd) : file_(std::move(file)), fd_(std::move(fd)) {}
  std::size_t group(std::string_view name);
  void write(const std::string& event);

  std::filesystem::path file_;
  Fd fd_;
  Clock::time_point start_ = Clock::now();
  std::vector<Group> groups_;
  bool is_empty_ = true;
  Result<> written_;
};

}  // namespace kw
