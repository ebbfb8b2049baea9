// The table of options (options.def), each with what reads, writes and describes it.
#pragma once

#include <boost/json/object.hpp>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/settings.h"

namespace kw {

// Who decides: the asker, who may let each job decide, or the engine that is asked, as it was started.
enum class Decided { here, where_it_runs };

// On which device an option enters the protocol hash.
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
  std::string_view otherwise{};  // the default in words, where its value says nothing
};

// What is wrong with a field of JSON: "is not a number from 0 to 1", and where within the option.
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
  // --help's line, with the default.
  std::string help() const;
  std::string default_text() const;

  virtual bool is_job_option() const = 0;
  virtual bool is_switch() const = 0;  // a flag without a value
  // The values there are, as docs have them, and the words where they are a closed set: a shell completes
  // them.
  virtual std::string values() const = 0;
  virtual std::vector<std::string> words() const = 0;

  // As the command line writes it.
  virtual Result<> read(const std::string& text, Settings& settings) const = 0;
  virtual std::string text(const Settings& settings) const = 0;
  // As a job has it.
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
// Those that a job may set.
std::vector<const Option*> job_option_table();

// Those that are set, as the service takes them: a named tolerance is its name, another {"rtol", "atol"}.
boost::json::object options_json(const JobOptions& options);

// Unknown options are refused; null is as if it were not there.
std::expected<JobOptions, FieldError> read_job_options(const boost::json::object& object);

// NAME=VALUE of every option that can change a verdict on the settings' device.
std::string protocol_text(const Settings& settings);
// The same of every option that enters the hash on any device, as JSON by the flags' names.
boost::json::object verdict_settings_json(const Settings& settings);
// And of those alone that the preparation of a task depends on.
std::string task_text(const Settings& settings);

}  // namespace kw
