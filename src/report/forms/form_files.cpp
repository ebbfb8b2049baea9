#include "report/forms/form_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "base/core/files.h"
#include "report/forms/csv.h"
#include "report/forms/markdown.h"

namespace kw::report {
namespace {

// The first bytes of each form.
std::string_view mark_of(Form form) {
  switch (form) {
    case Form::md:
      return markdown_mark;
    case Form::json:
      return "{\"schema\":\"kernelwright.report/1\"";
    case Form::csv:
      return "source,kind,key,task_id,";
  }
  return {};
}

Result<> write_text(std::string_view text, NewFile& file) {
  if (auto written = file.write(text); !written) return written;
  return file.finish();
}

}  // namespace

std::optional<Form> form_of(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  return extension.empty() ? std::nullopt : from_string<Form>(extension.substr(1));
}

bool is_report(Form form, const std::filesystem::path& file) {
  std::string_view mark = mark_of(form);
  Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string head(mark.size(), '\0');
  return fd && ::read(fd.get(), head.data(), head.size()) == static_cast<ssize_t>(head.size()) &&
         head == mark;
}

Result<> write_report(Form form, const Index& index, const Overview& overview,
                      const std::filesystem::path& output) {
  auto file = NewFile::create(output);
  if (!file) return std::unexpected(file.error());
  if (form == Form::md) return write_text(markdown(index, overview), *file);
  if (form == Form::json) return write_text(json_text(index, overview), *file);
  auto written = write_csv(index, [&](std::string_view text) { return file->write(text); });
  return written ? file->finish() : written;
}

}  // namespace kw::report
