// An index of a few rows and turns, made by hand.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "report/model/index.h"

namespace kw::report {

struct RowWorld {
  const char* task = "a";
  const char* standing = "right";
  std::optional<double> speedup = {};
  std::optional<double> compile_speedup = {};
  std::int64_t source = 0;
  const char* kind = "trace";
};

struct TurnWorld {
  const char* standing = "wrong";
  const char* error_class = "";
  const char* fault = "";
  const char* counts_reason = "";
};

class IndexWorld {
 public:
  IndexWorld() { add_source("one"); }

  void add_source(const char* name) {
    SourceFacts source;
    source.name = name;
    index.sources.push_back(source);
  }

  std::size_t add(const RowWorld& world) {
    Rows& rows = index.rows;
    std::size_t row = rows.add();
    rows.source.set(row, world.source);
    rows.kind.set(row, world.kind);
    rows.key.set(row, "key" + std::to_string(row));
    rows.task_id.set(row, world.task);
    rows.standing.set(row, world.standing);
    bool is_right = std::string_view(world.standing) == "right";
    bool is_wrong = std::string_view(world.standing) == "wrong";
    rows.status.set(row, is_right ? "correct" : is_wrong ? "incorrect" : "error");
    rows.speedup.set(row, world.speedup);
    rows.compile_speedup.set(row, world.compile_speedup);
    return row;
  }

  void add_turns(std::size_t row, std::initializer_list<TurnWorld> worlds) {
    Turns& turns = index.turns;
    for (const TurnWorld& world : worlds) {
      std::size_t at = turns.add();
      turns.row.set(at, static_cast<std::int64_t>(row));
      turns.standing.set(at, world.standing);
      turns.status.set(at, std::string_view(world.standing) == "right" ? "correct" : "failed");
      turns.error_class.set(at, world.error_class);
      turns.fault.set(at, world.fault);
      turns.counts_reason.set(at, world.counts_reason);
    }
  }

  Index index;
};

}  // namespace kw::report
