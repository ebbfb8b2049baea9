// The endpoints of tasks that are named by id, and of conversations about them.
#pragma once

#include "base/async/workbench.h"
#include "serve/conversations.h"
#include "serve/routes.h"
#include "serve/task_catalogue.h"

namespace kw::service {

// /v1/tasks. A null catalogue has no tasks.
void add_task_endpoints(Routes& routes, const TaskCataloguePtr& tasks);

// /v1/conversations and its subpaths.
void add_conversation_endpoints(Routes& routes, Conversations& conversations, async::Workbench& workbench);

}  // namespace kw::service
