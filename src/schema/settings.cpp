#include "schema/settings.h"

namespace kw {

Settings with_options(Settings settings, const JobOptions& options) {
#define KW_OPTION(...)
#define KW_JOB_OPTION(name, ...) \
  if (options.name) settings.name = *options.name;
#include "schema/options.def"
  return settings;
}

JobOptions job_options(const Settings& settings) {
  JobOptions options;
#define KW_OPTION(...)
#define KW_JOB_OPTION(name, ...) options.name = settings.name;
#include "schema/options.def"
  return options;
}

JobOptions overlaid(JobOptions settings, const JobOptions& own) {
#define KW_OPTION(...)
#define KW_JOB_OPTION(name, ...) \
  if (own.name) settings.name = own.name;
#include "schema/options.def"
  return settings;
}

}  // namespace kw
