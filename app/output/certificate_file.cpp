#include "output/certificate_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

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
  CertificateFile file;
  if (name.empty()) return file;
  if (fresh)
    if (auto aside = set_aside(name); !aside) return std::unexpected(aside.error());
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
  auto text = read_text_file(name_);
  if (!text) return std::unexpected(text.error());
  for (std::size_t from = 0; from < text->size();) {
    const std::size_t end = text->find('\n', from);
    if (end == std::string::npos) {
      // A process that died in a write leaves the front of a line.
      if (!may_be_torn_certificate(std::string_view(*text).substr(from), from > 0))
        return not_ours(name_, "a file of certificates");
      if (::ftruncate(fd_.get(), static_cast<off_t>(from)) == 0) return {};
      return fail(fmt::format("cannot remove the incomplete last line of {}: {}", name_, errno_text(errno)));
    }
    auto certificate = parse(std::string_view(*text).substr(from, end - from));
    if (!certificate) return not_ours(name_, "a file of certificates", ": " + certificate.error().what);
    if (certificate->fault != Fault::infrastructure)
      done_.insert_or_assign(certificate->work, std::move(*certificate));
    from = end + 1;
  }
  return {};
}

const TaskCertificate* CertificateFile::done(const std::string& work) const {
  auto found = done_.find(work);
  return found == done_.end() ? nullptr : &found->second;
}

Result<> CertificateFile::add(const TaskCertificate& certificate) {
  if (!fd_) return {};
  if (!write_all(fd_.get(), boost::json::serialize(to_json(certificate)) + "\n"))
    return fail(fmt::format("cannot write {}: {}", name_, errno_text(errno)),
                "free some space or name another --output; the same command continues");
  return {};
}

}  // namespace kw
