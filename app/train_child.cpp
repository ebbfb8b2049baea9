#include "train_child.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "python_child.h"

namespace kw::app {

namespace fs = std::filesystem;

Result<TrainPython> train_python(const std::string& asked) {
  auto python = python_child(asked);
  if (!python) return std::unexpected(python.error());
  TrainPython found{python->program, python->environment, {}};
  for (const fs::path& folder : python->installation.python_path)
    if (fs::path pins = folder / "requirements-train.txt"; fs::exists(pins))
      found.requirements = pins.string();
  return found;
}

process::Command train_command(const TrainPython& python, std::vector<std::string> words) {
  process::Command command;
  command.arguments = {python.program, "-P", "-m", "kernelwright.train"};
  for (std::string& word : words) command.arguments.push_back(std::move(word));
  command.arguments.insert(command.arguments.end(), {"--events", fmt::format("{}", training::events_fd)});
  command.environment = python.environment;
  return command;
}

Result<> install_packages(const TrainPython& python) {
  if (python.requirements.empty())
    return fail("requirements-train.txt is not in this installation", "unpack the tarball anew");
  fmt::print(stderr, "installing {} into {}\n", python.requirements, python.program);
  process::Command pip;
  // The list is complete. Without what packages ask for besides, PyTorch stays the one that is there.
  pip.arguments = {python.program, "-m",        "pip", "install",          "--disable-pip-version-check",
                   "--no-input",   "--no-deps", "-r",  python.requirements};
  pip.environment = python.environment;
  pip.output = STDERR_FILENO;
  auto ending = training::run_child(pip, {[](std::string_view) {}, [](bool) {}});
  if (!ending) return std::unexpected(ending.error());
  if (ending->interrupted) return fail("interrupted while packages were being installed", "the same again");
  if (ending->by_signal || ending->status != 0)
    return fail(
        fmt::format("pip could not install {}", python.requirements),
        fmt::format("what it says stands above; `{} -m pip` must be there and may install", python.program));
  return {};
}

}  // namespace kw::app
