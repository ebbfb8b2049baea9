// What TLS needs: the authorities that a client trusts, the certificate that a server shows.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace boost::asio::ssl {
class context;
}

namespace kw::http {

using TlsContext = boost::asio::ssl::context;

// TLS 1.2 or newer, certificates verified. Authorities come from `ca_file`, else from SSL_CERT_FILE and
// SSL_CERT_DIR, else from where Linux distributions keep them: looked for when called, since the program runs
// elsewhere than where it was built. The error names the file that cannot be read.
Result<std::shared_ptr<TlsContext>> make_tls_context(const std::string& ca_file);

// For a server: TLS 1.2 or newer. The error names the file that cannot be read, or says that the two do not
// belong together.
Result<std::shared_ptr<TlsContext>> make_server_tls_context(const std::string& certificate_file,
                                                            const std::string& key_file);

}  // namespace kw::http
