#include "output/certificate_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <string_view>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "output/output_file.h"

namespace kw {
namespace {

constexpr std::string_view certificate_beginning = R"({"schema":"kernelwright.certificate/1")";

// Behind whole certificates, every beginning of a line is this program's.
bool may_be_torn_certificate(std::string_view line, bool is_behind_others) {
  return line.starts_with(certificate_beginning) ||
         (is_behind_others && certificate_beginning.starts_with(line));
}

Result<TaskCertificate> parse(std::string_view line) {
  auto value = parse_json(line);
  if (!value) return std::unexpected(value.error());
  if (!value->is_object()) return fail("not a JSON object");
  return certificate_from_json(value->get_object());
}

}  // namespace

Result<CertificateFile> CertificateFile::open(const std::string& name, bool fresh) {
  auto file = open_file(name);
  if (!file || !fresh || file->done_.empty()) return file;
  if (auto aside = set_aside(name); !aside) return std::unexpected(aside.error());
  return open_file(name);
}

Result<CertificateFile> CertificateFile::open_file(const std::string& name) {
  CertificateFile file;
  if (name.empty()) return file;
  file.name_ = name;
  file.fd_ = Fd(::open(name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file.fd_)
    return fail(fmt::format("cannot write {}: {}", name, errno_text(errno)),
                "give --output a file in a folder that exists");
  if (::flock(file.fd_.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(fmt::format("another call writes {}", name), "wait for it, or name another file");
  if (auto read = file.read(); !read) return std::unexpected(read.error());
  return file;
}

Result<> CertificateFile::read() {
  struct stat info{};
  if (::fstat(fd_.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  auto text = read_text_file(name_);
  if (!text) return std::unexpected(text.error());
  for (std::size_t from = 0; from < text->size();) {
    const std::size_t end = std::min(text->find('\n', from), text->size());
    const std::string_view line = std::string_view(*text).substr(from, end - from);
    auto certificate = parse(line);
    const bool is_last = end == text->size();
    // A process that died in a write leaves the front of a line.
    if (!certificate && !(is_last && may_be_torn_certificate(line, from > 0)))
      return not_ours(name_, "a file of certificates", ": " + certificate.error().what);
    if (is_last)
      if (auto ended = end_last_line(from, certificate.has_value()); !ended) return ended;
    if (certificate) done_.insert_or_assign(certificate->work, std::move(*certificate));
    from = end + 1;
  }
  return {};
}

Result<> CertificateFile::end_last_line(std::size_t begin, bool is_whole) {
  if (is_whole ? write_all(fd_.get(), "\n") : ::ftruncate(fd_.get(), static_cast<off_t>(begin)) == 0)
    return {};
  return fail(fmt::format("cannot repair the last line of {}: {}", name_, errno_text(errno)));
}

const TaskCertificate* CertificateFile::done(const std::string& work) const {
  auto found = done_.find(work);
  const bool is_done = found != done_.end() && found->second.fault != Fault::infrastructure;
  return is_done ? &found->second : nullptr;
}

Result<> CertificateFile::add(const TaskCertificate& certificate) {
  if (!fd_) return {};
  if (!write_all(fd_.get(), boost::json::serialize(to_json(certificate)) + "\n"))
    return fail(fmt::format("cannot write {}: {}", name_, errno_text(errno)),
                "free some space or name another --output; the same command continues");
  return {};
}

}  // namespace kw
