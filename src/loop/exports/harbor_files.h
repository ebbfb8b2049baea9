// The files that every Harbor task contains, from harbor_task/.
#pragma once

namespace kw::exports {

extern const char* const harbor_judge_py;
extern const char* const harbor_test_sh;
extern const char* const harbor_solve_sh;

}  // namespace kw::exports
