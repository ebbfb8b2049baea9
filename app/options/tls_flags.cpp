#include "options/tls_flags.h"

namespace kw {

void TlsFlags::add(CLI::App& app, const std::string& group) {
  app.add_option("--tls-cert", certificate, "certificate chain in PEM format: serve https")
      ->type_name("F")
      ->group(group);
  app.add_option("--tls-key", key, "private key of the certificate in PEM format, without a passphrase")
      ->type_name("F")
      ->group(group);
}

Result<> TlsFlags::check() const {
  if (certificate.empty() == key.empty()) return {};
  return fail("--tls-cert and --tls-key belong together", "give both, or neither");
}

}  // namespace kw
