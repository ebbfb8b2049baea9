#include "train_child.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "engine/python.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> environment_with(const engine::Installation& installation) {
  std::string path;
  for (const fs::path& folder : installation.python_path) path += folder.string() + ":";
  const char* theirs = std::getenv("PYTHONPATH");
  if (theirs != nullptr && *theirs != '\0')
    path += theirs;
  else if (!path.empty())
    path.pop_back();
  std::vector<std::string> result{"PYTHONPATH=" + path, "PYTHONUNBUFFERED=1"};
  for (char** each = environ; *each != nullptr; ++each) {
    std::string_view variable(*each);
    if (!variable.starts_with("PYTHONPATH=") && !variable.starts_with("PYTHONUNBUFFERED="))
      result.emplace_back(variable);
  }
  return result;
}

}  // namespace

Result<TrainPython> train_python(const std::string& asked) {
  auto installation = engine::find_installation();
  if (!installation) return std::unexpected(installation.error());
  auto python = engine::find_python(asked, *installation);
  if (!python) return std::unexpected(python.error());
  TrainPython found{python->path.string(), environment_with(*installation), {}};
  for (const fs::path& folder : installation->python_path)
    if (fs::path pins = folder / "requirements-train.txt"; fs::exists(pins))
      found.requirements = pins.string();
  return found;
}

training::ChildCommand train_command(const TrainPython& python, std::vector<std::string> words) {
  training::ChildCommand command;
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
  training::ChildCommand pip;
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
