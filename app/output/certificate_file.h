// The file of `certify --output`: one certificate a line, appended when it is made, so that a repeated call
// goes on.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/core/files.h"
#include "base/core/result.h"
#include "types/certificate.h"

namespace kw {

class CertificateFile {
 public:
  // Reads the existing file and removes an incomplete last line. A file of another program is an error and
  // stays unchanged. Without a name nothing is kept.
  static Result<CertificateFile> open(const std::string& name, bool fresh);

  // The certificate of this work from an earlier call; one with a fault of the infrastructure is made again.
  const TaskCertificate* done(const std::string& work) const;
  Result<> add(const TaskCertificate& certificate);

 private:
  static Result<CertificateFile> open_file(const std::string& name);
  Result<> read();
  Result<> end_last_line(std::size_t begin, bool is_whole);

  std::string name_;
  Fd fd_;
  std::map<std::string, TaskCertificate> done_;
};

}  // namespace kw
