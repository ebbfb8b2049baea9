// The findings of a run for GitHub's workflows: annotations of lines as workflow commands, and a summary of
// the job in Markdown. No text of a candidate can begin a command: it is escaped, on one line, and behind a
// command of the program's own.
#pragma once

#include <string>

#include "verify/explain/finding.h"

namespace kw::explain {

// GitHub shows as many annotations of each level of a step, and ignores the others.
inline constexpr std::size_t most_annotations = 10;

// "::error file=a.py,line=3,col=5,endColumn=9,title=failed (out_of_bounds)::MESSAGE", one a line: at most
// most_annotations of each level, errors first; bad rows are errors behind those of the candidates. A last
// line states the number of the others.
std::string to_annotations(const Findings& findings);

// A heading with the counts, a table of the first 200 findings, the explanations of the first 20, and the
// number of those that are left out. At most 500 kB; GitHub shows 1 MiB a step.
std::string to_job_summary(const Findings& findings);

}  // namespace kw::explain
