// Answers by key in a file of JSON lines that only ever grows.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "labels/answers.h"

namespace kw::labels {

class AnswerCache {
 public:
  // Lines that are not as they must be are passed over. An empty path: nothing is kept.
  static Result<AnswerCache> open(const std::filesystem::path& path, const std::vector<std::string>& targets);

  const Answer* find(const std::string& key) const;

  // An answer that another try could change (time, memory) is not for keeping.
  Result<> keep(const std::string& key, const Answer& answer);

 private:
  std::map<std::string, Answer> answers_;
  std::filesystem::path path_;
  Fd file_;
};

}  // namespace kw::labels
