// Library: what the command line gave. Either some inputs that are shown together, or one folder whose inputs
// are listed and opened one at a time. No request can name anything else.
#pragma once

#include <boost/json/array.hpp>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/loop.h"
#include "base/async/workbench.h"
#include "base/core/result.h"
#include "view/live.h"
#include "view/model.h"

namespace kw::view {

class Library {
 public:
  // A single path that is a folder and no input itself is listed. An error if a path does not exist.
  static Result<std::unique_ptr<Library>> open(async::Loop& loop, ModelReader reader,
                                               const std::vector<std::string>& paths);
  ~Library();

  bool is_folder() const { return !folder_.empty(); }

  // The inputs of the folder, in the order of their paths.
  async::Task<Result<boost::json::array>> runs();

  // The inputs shown together for an empty `run`, else the input with exactly this path in the last list.
  // Null for any other path, and for an empty one of a folder.
  async::Task<Result<std::shared_ptr<Live>>> find(std::string run);

  // Reads again what has changed of the inputs that someone looks at.
  async::Task<> look();
  void stop();

 private:
  Library(async::Loop& loop, ModelReader reader) : loop_(loop), reader_(std::move(reader)) {}

  struct Shown {
    std::string run;
    std::shared_ptr<Live> live;
  };
  struct Described {
    std::string signature;
    std::optional<RunFacts> facts;  // none: not an input
  };
  using Listed = std::map<std::string, Described>;
  async::Task<Result<>> list();
  bool is_listed(const std::string& run) const;
  std::shared_ptr<Live> show(const std::string& run, std::vector<std::string> paths);

  async::Loop& loop_;
  ModelReader reader_;
  std::filesystem::path folder_;  // canonical; empty: none
  Listed listed_;                 // by path relative to the folder
  std::list<Shown> shown_;        // the most recently used first
  async::Workbench scanner_;
};

}  // namespace kw::view
