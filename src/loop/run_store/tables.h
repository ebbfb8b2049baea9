// The tables of run.db. A change needs a new format number and an upgrade from the old one.
#pragma once

namespace kw::store {

inline constexpr const char* tables = R"sql(
CREATE TABLE run (
  settings TEXT NOT NULL,        -- JSON
  config_toml TEXT NOT NULL,
  program_version TEXT NOT NULL,
  git_revision TEXT NOT NULL,
  created_at TEXT NOT NULL
);
-- Each time that a program went on with it.
CREATE TABLE openings (
  opened_at TEXT NOT NULL,
  program_version TEXT NOT NULL,
  git_revision TEXT NOT NULL,
  config_toml TEXT NOT NULL
);
CREATE TABLE traces (
  id INTEGER PRIMARY KEY,        -- in the order in which they were begun
  task_id TEXT NOT NULL,
  sample_number INTEGER NOT NULL,
  source TEXT NOT NULL,
  level TEXT NOT NULL,
  problem_id TEXT NOT NULL,
  sample_key TEXT NOT NULL,
  name TEXT NOT NULL,
  reference_code TEXT NOT NULL,
  entry_point TEXT NOT NULL,
  input_shapes TEXT NOT NULL,
  licence TEXT NOT NULL,
  repo TEXT NOT NULL,
  prompt TEXT NOT NULL,          -- JSON: [{role, content}]
  sampling TEXT NOT NULL,        -- JSON
  begun_at TEXT NOT NULL,
  ended_at TEXT,                 -- null: not ended
  UNIQUE (task_id, sample_number)
);
CREATE TABLE rounds (
  trace INTEGER NOT NULL REFERENCES traces (id),
  round INTEGER NOT NULL,
  stop_reason TEXT,              -- null: not ended
  error TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (trace, round)
) WITHOUT ROWID;
CREATE TABLE turns (
  id INTEGER PRIMARY KEY,
  trace INTEGER NOT NULL,
  round INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  completion TEXT NOT NULL,
  reasoning TEXT NOT NULL,
  code TEXT NOT NULL,
  model TEXT NOT NULL,
  finish_reason TEXT NOT NULL,
  prompt_tokens INTEGER,
  completion_tokens INTEGER,
  reasoning_tokens INTEGER,
  generation_ms REAL NOT NULL,
  answered_at TEXT NOT NULL,
  feedback TEXT,                 -- null: none was given
  verdict TEXT,                  -- JSON; null: not judged
  judged_at TEXT,
  candidate_sha256 TEXT,         -- from here on: of the verdict, to search by
  protocol TEXT,
  counting INTEGER,              -- correct, and counts
  speedup REAL,
  infrastructure INTEGER,        -- the fault is not the candidate's
  work TEXT,                     -- by which equal work finds the verdict; null: it is not to be shared
  UNIQUE (trace, round, turn),
  FOREIGN KEY (trace, round) REFERENCES rounds (trace, round)
);
CREATE INDEX known_verdicts ON turns (work) WHERE infrastructure = 0;
)sql";

// Format 1 identified a verdict by the names of its task and candidate; those verdicts are not shared any
// more.
inline constexpr const char* from_format_1 = R"sql(
ALTER TABLE turns ADD COLUMN work TEXT;
DROP INDEX known_verdicts;
CREATE INDEX known_verdicts ON turns (work) WHERE infrastructure = 0;
-- The options of judging had names of their own.
UPDATE run SET settings = json_remove(json_set(settings,
    '$."correctness-trials"', json_extract(settings, '$.trials'),
    '$.tolerance', CASE json_extract(settings, '$.tolerance') WHEN 'custom'
      THEN json_object('rtol', json_extract(settings, '$.rtol'), 'atol', json_extract(settings, '$.atol'))
      ELSE json_extract(settings, '$.tolerance') END,
    '$.weights', json(CASE json_extract(settings, '$."move-weights"') WHEN 0 THEN 'false' ELSE 'true' END),
    '$.shapes', json(CASE json_extract(settings, '$."reduce-shapes"') WHEN 0 THEN 'false' ELSE 'true' END),
    '$.timeout', json_extract(settings, '$."timeout-ms"') / 1000.0),
  '$.trials', '$.rtol', '$.atol', '$."move-weights"', '$."reduce-shapes"', '$."timeout-ms"')
WHERE json_type(settings, '$.trials') IS NOT NULL;
)sql";

}  // namespace kw::store
