// Writes tasks as folders that Harbor runs: an agent writes a kernel in one container, and a verifier in
// another one has it judged.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/core/words.h"
#include "types/job.h"

namespace kw::exports {

// service: one that holds the same tasks, which the verifier names by their ids. local: one that the
// verifier starts in its own container; the reference lies in tests/ then.
BOOST_DEFINE_ENUM_CLASS(HarborJudge, service, local)

struct HarborTask {
  Task task;
  std::string version;   // of the task's content, as a service states it
  std::string prompt;    // Markdown: the rules for the module, and the task
  std::string solution;  // a kernel whose verdict says that it is correct and counts; empty: none is known
};

struct HarborOptions {
  std::string org = "kernelwright";
  std::string prompt_style;
  HarborJudge judge = HarborJudge::service;
  std::string image;           // of the agent's container; empty: Python with PyTorch and Triton for the CPU
  std::string verifier_image;  // empty: Python alone, which suffices where a service judges
  bool gradients = false;      // are judged
  unsigned gpus = 0;           // of the agent's container, and of a verifier that judges by itself
};

// Whether the text may follow FROM in a Dockerfile as the name of an image.
bool is_image_name(std::string_view text);

// The files of one task, by their paths in its folder. Equal arguments give equal bytes.
std::vector<std::pair<std::string, std::string>> harbor_files(const HarborTask& task, const std::string& name,
                                                              const HarborOptions& options);

// Writes a folder for each task below `folder`, which may be missing.
Result<> write_harbor(const std::vector<HarborTask>& tasks, const std::filesystem::path& folder,
                      const HarborOptions& options);

}  // namespace kw::exports
