// The figures of a summary by turn. Turn numbers count the turns of one row from 1 in the order of the table,
// a second round after the first; a verdict counts as one turn.
#pragma once

#include "report/summary/summary.h"

namespace kw::report {

// Sets right_by_turn, errors_by_turn, faults and costs_by_turn.
void add_turns(const Index& index, const WantedRow& wanted, const score::Bootstrap& bootstrap,
               Summary& summary);

}  // namespace kw::report
