// The tables of the service's store. A change is a new format, with a way from the old one.
#pragma once

namespace kw::service {

// Times are milliseconds since 1970, UTC. Texts have tables of their own: a request goes when there is a
// verdict, and would leave half-empty pages behind among rows that stay.
inline constexpr const char* tables = R"sql(
CREATE TABLE evaluations (
  seq INTEGER PRIMARY KEY,       -- in the order in which they came
  id TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL,          -- of the request
  state INTEGER NOT NULL,        -- 0: queued or running, 1: done, 2: cancelled
  submitted_at INTEGER NOT NULL,
  deadline_at INTEGER,
  started_at INTEGER,
  finished_at INTEGER,
  cause TEXT,                    -- of a cancellation
  work TEXT                      -- by which equal work finds the verdict; null: nobody may share it
);
CREATE INDEX open_evaluations ON evaluations (seq) WHERE state = 0;
CREATE INDEX known_verdicts ON evaluations (work) WHERE work IS NOT NULL;
CREATE INDEX by_end ON evaluations (finished_at) WHERE state <> 0;
-- Of those that are not over.
CREATE TABLE requests (
  seq INTEGER PRIMARY KEY,
  request TEXT NOT NULL          -- JSON
);
-- Of those that are done.
CREATE TABLE verdicts (
  seq INTEGER PRIMARY KEY,
  verdict TEXT NOT NULL          -- JSON
);
)sql";

}  // namespace kw::service
