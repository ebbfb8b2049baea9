#include "training/job.h"

#include "recipe/files.h"

namespace kw::training {
namespace {

namespace json = boost::json;

template <typename T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value();
}

}  // namespace

json::object to_json(const Job& job) {
  json::array paths;
  json::array files;
  for (const DataFile& file : job.data) {
    paths.emplace_back(file.path);
    files.push_back({{"path", file.path}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  return {{"schema", "kernelwright.train-job/1"},
          {"model", job.model},
          {"data", std::move(paths)},
          {"files", std::move(files)},
          {"output", job.output},
          {"engine", job.engine},
          {"device", job.device},
          {"memory_bytes", or_null(job.memory_bytes)},
          {"max_steps", or_null(job.max_steps)},
          {"resume", job.resume},
          {"dry_run", job.dry_run},
          {"push_to_hub", or_null(job.push_to_hub)},
          {"program", job.program},
          {"recipe", recipe::to_json(job.recipe)}};
}

}  // namespace kw::training
