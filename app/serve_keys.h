// The file of --keys: read at the start of a service, and again when it has changed.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "serve/owners.h"

namespace kw::app {

class KeysFile {
 public:
  using Owners = Result<std::vector<service::OwnerRules>>;

  explicit KeysFile(std::filesystem::path path) : path_(std::move(path)) {}

  Owners read();
  // Called every second. Reads a file that has changed since, and no longer changes: a file that is being
  // written is incomplete. A read that fails is repeated at each call, and told once for each reason. A pipe
  // is read once, at the start. No path: does nothing.
  void look(const std::function<void(Owners owners)>& use);

 private:
  std::filesystem::path path_;
  std::string read_;  // stamps of the file when it was read well, and at the last look
  std::string seen_;
  std::string told_;  // why the last read failed
};

}  // namespace kw::app
