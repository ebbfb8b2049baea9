// Store: evaluations in one SQLite file. One thread owns the connection; what is queued while it writes goes
// into its next transaction, and each caller resumes on the loop when that is on disk.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/loop.h"
#include "base/result.h"
#include "service/rows.h"

namespace kw::service {

class Store {
 public:
  // Makes folder and file where they are missing. Refused: one that another service has open, a file that is
  // no store, is damaged, or comes from a newer version.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& path);
  ~Store();

  // Writes what is queued, and lets go of the file; every call fails from then on.
  void close();

  // What an earlier service left to do, in the order in which it came. Before any other call.
  Result<std::vector<OpenRow>> open_ones();

  struct Inserted {
    std::vector<KeptRow> rows;
    std::optional<std::size_t> conflict;  // the row whose id is there with another request: none was kept
  };
  async::Task<Result<Inserted>> insert(std::vector<NewRow> rows);
  async::Task<Result<>> end(std::vector<EndRow> rows);
  // In the order of the ids.
  async::Task<Result<std::vector<std::optional<Record>>>> find(std::vector<std::string> ids);
  async::Task<Result<std::vector<std::optional<std::string>>>> known_verdicts(std::vector<std::string> works);
  async::Task<Result<std::size_t>> purge(std::int64_t finished_before_ms, std::size_t most);

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kw::service
