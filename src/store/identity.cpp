#include "store/identity.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json/serialize.hpp>
#include <set>

#include "base/text.h"
#include "schema/json.h"
#include "store/database.h"

namespace kw::store {
namespace json = boost::json;
namespace {

constexpr std::size_t longest_shown_bytes = 200;

std::string shown(const json::value* value) {
  return value ? shorten(json::serialize(*value), longest_shown_bytes) : "not set";
}

void compare(const std::string& prefix, const json::object& was, const json::object& now,
             std::vector<std::string>& found) {
  std::set<std::string> names;
  for (const json::object* each : {&was, &now})
    for (const auto& member : *each) names.insert(std::string(member.key()));
  for (const std::string& name : names) {
    const json::value* before = was.if_contains(name);
    const json::value* after = now.if_contains(name);
    if (before && after && before->is_object() && after->is_object())
      compare(prefix + name + ".", before->get_object(), after->get_object(), found);
    else if (!before || !after || canonical_json(*before) != canonical_json(*after))
      found.push_back(fmt::format("{}{}: {} → {}", prefix, name, shown(before), shown(after)));
  }
}

void add_run(SQLite::Database& database, const RunInfo& info, const std::string& now) {
  SQLite::Statement add(database, "INSERT INTO run VALUES (?, ?, ?, ?, ?)");
  add.bind(1, json::serialize(info.settings));
  add.bind(2, info.config_toml);
  add.bind(3, info.program_version);
  add.bind(4, info.git_revision);
  add.bind(5, now);
  add.exec();
}

void add_opening(SQLite::Database& database, const RunInfo& info, const std::string& now) {
  SQLite::Statement add(database, "INSERT INTO openings VALUES (?, ?, ?, ?)");
  add.bind(1, now);
  add.bind(2, info.program_version);
  add.bind(3, info.git_revision);
  add.bind(4, info.config_toml);
  add.exec();
}

}  // namespace

std::vector<std::string> differences(const json::object& was, const json::object& now) {
  std::vector<std::string> found;
  compare("", was, now, found);
  return found;
}

RunInfo read_info(SQLite::Database& database) {
  RunInfo info;
  SQLite::Statement row(database,
                        "SELECT settings, config_toml, program_version, git_revision, created_at FROM run");
  if (!row.executeStep()) return info;
  if (auto settings = parse_json(row.getColumn(0).getString()); settings && settings->is_object())
    info.settings = std::move(settings->get_object());
  info.config_toml = row.getColumn(1).getString();
  info.program_version = row.getColumn(2).getString();
  info.git_revision = row.getColumn(3).getString();
  info.created_at = row.getColumn(4).getString();
  return info;
}

Result<> settle_identity(SQLite::Database& database, const std::filesystem::path& path, const RunInfo& info) {
  try {
    SQLite::Transaction transaction(database);
    std::string now = utc_now();
    bool there = database.execAndGet("SELECT count(*) FROM run").getInt() > 0;
    if (!there) add_run(database, info, now);
    if (auto found = differences(read_info(database).settings, info.settings); !found.empty())
      return fail(fmt::format("the run in {} was made with other settings:\n  {}",
                              path.parent_path().string(), fmt::join(found, "\n  ")),
                  "give the same settings to go on, another --output, or --fresh to start anew");
    add_opening(database, info, now);
    transaction.commit();
    return {};
  } catch (const std::exception& error) {
    return std::unexpected(database_error(path, "open", error));
  }
}

}  // namespace kw::store
