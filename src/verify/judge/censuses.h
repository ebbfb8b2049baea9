// The censuses of library kernels, one for each kind of GPU: see verify/census.
#pragma once

#include <expected>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/async/wait.h"
#include "verify/census/census.h"

namespace kw::verify {

class Censuses {
 public:
  using Answer = Result<std::shared_ptr<const census::Census>>;

  // `maker` is the replayer's program: a child of this process reads the libraries, which are not its own.
  Censuses(async::Loop& loop, std::filesystem::path maker) : loop_(loop), maker_(std::move(maker)) {}
  // Ends the children.
  ~Censuses();
  Censuses(const Censuses&) = delete;
  Censuses& operator=(const Censuses&) = delete;

  // The census of the libraries in these folders for a compute capability (90). The first caller has it read
  // from the cache or made, which takes seconds; the others wait for the same. After an error the next caller
  // begins again.
  async::Task<Answer> of(unsigned capability, std::vector<std::string> folders, async::Stop& stop);

  void keep(unsigned capability, census::Census census);

 private:
  struct Making;
  std::shared_ptr<Making> begin(unsigned capability, const std::vector<std::string>& folders);

  async::Loop& loop_;
  std::filesystem::path maker_;
  std::map<unsigned, std::shared_ptr<Making>> makings_;
};

}  // namespace kw::verify
