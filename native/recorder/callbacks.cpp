// What CUPTI calls: modules, kernels and graphs are followed all the time, every driver call during a
// recording.
#include <atomic>
#include <initializer_list>
#include <string>

#include "calls.h"
#include "graphs.h"
#include "modules.h"
#include "session.h"
#include "tape.h"

namespace kw::recorder {
namespace {

std::atomic<CUpti_SubscriberHandle> subscriber{nullptr};

// Calls after which something that we know has changed. Watched outside recordings too.
constexpr std::initializer_list<CUpti_CallbackId> always_watched{
    KW_ID(cuModuleLoad),
    KW_ID(cuModuleLoadData),
    KW_ID(cuModuleLoadDataEx),
    KW_ID(cuModuleLoadFatBinary),
    KW_ID(cuModuleUnload),
    KW_ID(cuLibraryGetKernel),
    KW_ID(cuLibraryEnumerateKernels),
    KW_ID(cuGraphInstantiate),
    KW_ID(cuGraphInstantiate_v2),
    KW_ID(cuGraphInstantiateWithFlags),
    KW_ID(cuGraphInstantiateWithParams),
    KW_ID(cuGraphInstantiateWithParams_ptsz),
    KW_ID(cuGraphExecDestroy),
    KW_ID(cuGraphExecUpdate),
    KW_ID(cuGraphExecUpdate_v2),
    KW_ID(cuGraphExecKernelNodeSetParams),
    KW_ID(cuGraphExecKernelNodeSetParams_v2),
    KW_ID(cuGraphExecMemcpyNodeSetParams),
    KW_ID(cuGraphExecMemsetNodeSetParams),
    KW_ID(cuGraphExecHostNodeSetParams),
    KW_ID(cuGraphExecChildGraphNodeSetParams),
    KW_ID(cuGraphExecEventRecordNodeSetEvent),
    KW_ID(cuGraphExecEventWaitNodeSetEvent),
    KW_ID(cuGraphExecExternalSemaphoresSignalNodeSetParams),
    KW_ID(cuGraphExecExternalSemaphoresWaitNodeSetParams),
    KW_ID(cuGraphExecBatchMemOpNodeSetParams),
    KW_ID(cuGraphExecNodeSetParams),
    KW_ID(cuGraphNodeSetEnabled),
};

bool loads_a_module(CUpti_CallbackId id) {
  return id == KW_ID(cuModuleLoad) || id == KW_ID(cuModuleLoadData) || id == KW_ID(cuModuleLoadDataEx) ||
         id == KW_ID(cuModuleLoadFatBinary);
}

// All of these calls begin with where the module goes; the data's own address follows where it is an image.
void module_loaded(const Call& call) {
  const auto& p = call.as<cuModuleLoadData_params>();
  bool image = call.id == KW_ID(cuModuleLoadData) || call.id == KW_ID(cuModuleLoadDataEx);
  if (p.module != nullptr) modules().is(*p.module, image ? p.image : nullptr);
}

// After a call that succeeded: what it tells about modules, kernels and graphs.
void follow(const Call& call) {
  switch (call.id) {
    case KW_ID(cuModuleLoad):
    case KW_ID(cuModuleLoadData):
    case KW_ID(cuModuleLoadDataEx):
    case KW_ID(cuModuleLoadFatBinary):
      module_loaded(call);
      return;
    case KW_ID(cuModuleUnload):
      modules().unloaded(call.as<cuModuleUnload_params>().hmod);
      return;
    case KW_ID(cuLibraryGetKernel):
      modules().is_kernel(*call.as<cuLibraryGetKernel_params>().pKernel);
      return;
    case KW_ID(cuLibraryEnumerateKernels): {
      const auto& p = call.as<cuLibraryEnumerateKernels_params>();
      for (unsigned i = 0; i < p.numKernels; ++i) modules().is_kernel(p.kernels[i]);
      return;
    }
    case KW_ID(cuGraphInstantiate):
    case KW_ID(cuGraphInstantiate_v2):
    case KW_ID(cuGraphInstantiateWithFlags):
    case KW_ID(cuGraphInstantiateWithParams): {
      const auto& p = call.as<cuGraphInstantiateWithFlags_params>();
      graph_instantiated(p.hGraph, *p.phGraphExec);
      return;
    }
    default:
      break;
  }
  // The rest of what is always watched changes a graph that was instantiated: its first parameter.
  for (CUpti_CallbackId id : always_watched)
    if (id == call.id) graph_forgotten(call.as<cuGraphExecDestroy_params>().hGraphExec);
}

void write_down(const Call& call) {
  if (write_launch(call) || write_copy(call) || write_fill(call) || write_wait(call) || write_graph(call))
    return;
  if (!harmless(call.name)) tape().obstacle("driver call", call.name);
}

Call described(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  const char* name = data.functionName == nullptr ? "" : data.functionName;
  std::string_view text = name;
  return {.id = plain(id),
          .name = name,
          .symbol = data.symbolName,
          .parameters = data.functionParams,
          .per_thread = text.ends_with("_ptsz") || text.ends_with("_ptds")};
}

void driver_called(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  const Call call = described(id, data);
  if (data.callbackSite == CUPTI_API_ENTER) {
    if (loads_a_module(call.id)) modules().loading();
    if (tape().running()) {
      before_launch(call);
      before_graph(call);
    }
    return;
  }
  if (data.functionReturnValue == nullptr ||
      *static_cast<const CUresult*>(data.functionReturnValue) != CUDA_SUCCESS)
    return;
  follow(call);
  if (tape().running()) write_down(call);
}

}  // namespace

void CUPTIAPI on_callback(void* /*data*/, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                          const void* what) {
  was_called();
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
    const auto* resource = static_cast<const CUpti_ResourceData*>(what);
    const auto* module = static_cast<const CUpti_ModuleResourceData*>(resource->resourceDescriptor);
    modules().loaded(module->pCubin, module->cubinSize);
    return;
  }
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || Quiet::on()) return;
  Quiet quiet;
  driver_called(id, *static_cast<const CUpti_CallbackData*>(what));
}

CUptiResult subscribe() {
  const Cupti& cupti = machine().cupti;
  CUpti_SubscriberHandle handle = nullptr;
  CUptiResult result = cupti.cuptiSubscribe(&handle, on_callback, nullptr);
  if (result != CUPTI_SUCCESS) return result;
  subscriber = handle;
  result = cupti.cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED);
  if (result == CUPTI_SUCCESS)
    result =
        cupti.cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
  for (CUpti_CallbackId id : always_watched)
    if (result == CUPTI_SUCCESS)
      result = cupti.cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, id);
  return result;
}

void watch_everything(bool on) {
  const Cupti& cupti = machine().cupti;
  CUpti_SubscriberHandle handle = subscriber;
  if (handle == nullptr) return;
  cupti.cuptiEnableDomain(on ? 1 : 0, handle, CUPTI_CB_DOMAIN_DRIVER_API);
  if (on) return;
  for (CUpti_CallbackId id : always_watched)
    cupti.cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

}  // namespace kw::recorder
