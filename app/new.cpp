#include "new.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/core/files.h"
#include "session.h"
#include "starter/starter.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

struct NewFile {
  fs::path path;
  std::string text;
};

// A name is part of a file's name and of a Python function's name.
bool is_name(std::string_view name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  constexpr std::string_view digits = "0123456789";
  return !name.empty() && !digits.contains(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letters.contains(c) || digits.contains(c); });
}

std::string named(std::string text, const std::string& name) {
  constexpr std::string_view placeholder = "starter";
  for (std::size_t at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at + name.size()))
    text.replace(at, placeholder.size(), name);
  return text;
}

Result<> write_new(const std::array<NewFile, 2>& files, const fs::path& folder) {
  for (const NewFile& file : files)
    if (std::error_code ignored; fs::exists(fs::symlink_status(file.path, ignored)))
      return fail(fmt::format("{} exists", file.path.string()), "give another NAME, or another --output");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
  for (const NewFile& file : files)
    if (auto written = write_file(file.path, file.text); !written) return written;
  return {};
}

// As a word of a shell.
std::string quoted(const fs::path& path) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:=@";
  std::string text = path.string();
  if (text.find_first_not_of(plain) == std::string::npos) return text;
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4)
    text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

}  // namespace

void NewFlags::add(CLI::App& app) {
  app.add_option("NAME", name, "name of the pair: letters, digits and underscores")->required();
  app.add_option("--output,-o", output, "folder for both files [the current folder]")->type_name("DIR");
  app.add_flag("--quiet,-q", quiet, "print errors only");
}

int new_pair(const NewFlags& flags) {
  if (!is_name(flags.name)) {
    complain({fmt::format("\"{}\" cannot be part of a Python name", flags.name),
              "use letters, digits and underscores, and no digit at the beginning"});
    return exit_usage;
  }
  const fs::path folder = fs::path(flags.output).lexically_normal();
  std::array<NewFile, 2> files{
      NewFile{(folder / (flags.name + "_reference.py")).lexically_normal(),
              named(starter_reference, flags.name)},
      NewFile{(folder / (flags.name + "_kernel.py")).lexically_normal(), named(starter_kernel, flags.name)}};
  if (auto written = write_new(files, folder); !written) return failed(written.error());
  if (flags.quiet) return 0;
  fmt::print("reference  {}\nkernel     {}\n", files[0].path.string(), files[1].path.string());
  fmt::print("kernelwright verify {} {}\n", quoted(files[0].path), quoted(files[1].path));
  return 0;
}

}  // namespace kw::app
