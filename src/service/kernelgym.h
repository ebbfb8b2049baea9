// KernelGYM's HTTP dialect: POST /evaluate, GET /status/ID, GET /results/ID, DELETE /tasks/ID.
#pragma once

#include "service/desk.h"
#include "service/routes.h"

namespace kw::service {

// Each of them at the root and below /kernelgym, where GET /kernelgym/health also answers in the dialect: it
// is what a trainer is given as its server's URL. Routes and desk must outlive the endpoints.
void add_kernelgym(Routes& routes, EvaluationDesk& desk);

}  // namespace kw::service
