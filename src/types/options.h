// Settings, the options that verdicts depend on; JobOptions, the overrides of one job; and the table of
// options (options.def), with functions that read, write and describe each.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "types/enums.h"

namespace kw {

struct ToleranceOption {
  std::string name = "kernelbench";  // "kernelbench", "seed", "strict", "custom"
  double rtol = -1;                  // negative: that of the named rule
  double atol = -1;
  bool operator==(const ToleranceOption&) const = default;
};

BOOST_DEFINE_ENUM_CLASS(DeviceKind, auto_, cpu, cuda)

// The value of --device: the GPUs to use.
struct DeviceChoice {
  DeviceKind kind = DeviceKind::auto_;
  std::optional<int> ordinal;  // of one GPU; none: all visible GPUs
  bool operator==(const DeviceChoice&) const = default;
};

BOOST_DEFINE_ENUM_CLASS(Device, cpu, cuda)

// The options that verdicts depend on. The members are the options of options.def.
struct Settings {
  Device device = Device::cpu;  // resolved from `devices` on this machine
  std::uint32_t timing_warmup = 10;

#define KW_OPTION(name, type, initial, ...) type name = initial;
#include "types/options.def"

  bool operator==(const Settings&) const = default;
};

// The overrides of one job.
struct JobOptions {
#define KW_OPTION(...)
#define KW_JOB_OPTION(name, type, ...) std::optional<type> name{};
#include "types/options.def"

  bool operator==(const JobOptions&) const = default;
};

// The settings of one job: its options replace those that it sets.
Settings with_options(Settings settings, const JobOptions& options);

// Every setting that a job may set.
JobOptions job_options(const Settings& settings);

// The options `settings`, overridden by the job's own options.
JobOptions overlaid(JobOptions settings, const JobOptions& own);

// Where an option is decided: by the client, which may let each job set it, or by the engine's own command
// line.
enum class Decided { here, where_it_runs };

// The devices on which an option enters the protocol hash.
struct InProtocol {
  bool cpu = true;
  bool cuda = true;
  std::string_view why_not{};  // it changes no verdict
};
inline constexpr InProtocol on_cpu{.cpu = true, .cuda = false};
inline constexpr InProtocol on_cuda{.cpu = false, .cuda = true};
constexpr InProtocol left_out(std::string_view why) {
  return {false, false, why};
}

struct About {
  std::string_view flag;
  std::string_view value{};  // as --help names it
  std::string_view group;
  std::string_view field{};  // of a job, where that is not the member's name
  Decided decided = Decided::here;
  InProtocol protocol{};
  bool shapes_task = false;  // an oracle's preparation of a task depends on it
  std::string_view help;
  std::string_view otherwise{};  // the default in words, if its value explains nothing
};

// The fault of a JSON field, like "is not a number from 0 to 1", and its path within the option.
struct FieldError {
  std::string field;  // "tolerance.rtol"
  std::string why;
};

class Option {
 public:
  constexpr Option(std::string_view member, const About& about) : about(about), member(member) {}
  virtual ~Option() = default;

  // The name in JSON.
  std::string_view name() const { return about.field.empty() ? member : about.field; }
  // The description for --help, with the default.
  std::string help() const;
  std::string default_text() const;

  virtual bool is_job_option() const = 0;
  virtual bool is_switch() const = 0;  // a flag without a value
  // The values for the docs, and the words of a closed set for shell completion.
  virtual std::string values() const = 0;
  virtual std::vector<std::string> words() const = 0;

  // The value as on the command line.
  virtual Result<> read(const std::string& text, Settings& settings) const = 0;
  virtual std::string text(const Settings& settings) const = 0;
  // The value as in a job.
  virtual boost::json::value json(const Settings& settings) const = 0;
  virtual std::expected<void, FieldError> read(const boost::json::value& value,
                                               JobOptions& options) const = 0;
  virtual void write(const JobOptions& options, boost::json::object& into) const = 0;
  virtual boost::json::object json_schema() const = 0;  // as OpenAPI describes it
  virtual std::string python_type() const = 0;

  const About about;
  const std::string_view member;
};

// In the order of --help.
std::span<const Option* const> all_options();
// The options that a job may set.
std::vector<const Option*> job_option_table();

// The options that are set, in the service's form: a named tolerance is its name, any other is {"rtol",
// "atol"}.
boost::json::object options_json(const JobOptions& options);

// Refuses unknown options; null equals a missing option.
std::expected<JobOptions, FieldError> read_job_options(const boost::json::object& object);

// NAME=VALUE of every option that can change a verdict on the settings' device.
std::string protocol_text(const Settings& settings);
// The options that enter the hash on any device, as JSON by the flags' names.
boost::json::object verdict_settings_json(const Settings& settings);
// NAME=VALUE of the options that affect the preparation of a task.
std::string task_text(const Settings& settings);

}  // namespace kw
