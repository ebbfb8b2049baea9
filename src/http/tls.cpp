#include "http/tls.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ssl/context.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace kw::http {

namespace {

constexpr std::array kBundles = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
    "/etc/pki/tls/certs/ca-bundle.crt",                   // older of them
    "/etc/ssl/ca-bundle.pem",                             // SUSE
    "/etc/ssl/cert.pem",                                  // Alpine
};
constexpr std::array kFolders = {"/etc/ssl/certs", "/etc/pki/tls/certs"};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

Result<> load_file(TlsContext& context, const std::string& file, std::string_view named_by) {
  boost::system::error_code error;
  context.load_verify_file(file, error);
  if (!error) return {};
  return fail(
      fmt::format("cannot read CA certificates from {}, named by {}: {}", file, named_by, error.message()),
      "give a file of certificates in PEM");
}

void load_what_is_there(TlsContext& context) {
  boost::system::error_code error;
  for (const char* file : kBundles)
    if (access(file, R_OK) == 0) {
      context.load_verify_file(file, error);
      if (!error) return;
    }
  for (const char* folder : kFolders)
    if (access(folder, R_OK) == 0) context.add_verify_path(folder, error);
}

Result<> load_authorities(TlsContext& context, const std::string& ca_file) {
  if (!ca_file.empty()) return load_file(context, ca_file, "the option for it");
  std::string file = environment("SSL_CERT_FILE");
  std::string folder = environment("SSL_CERT_DIR");
  if (file.empty() && folder.empty()) load_what_is_there(context);
  if (!file.empty())
    if (auto loaded = load_file(context, file, "SSL_CERT_FILE"); !loaded) return loaded;
  boost::system::error_code ignored;  // a folder is read when a certificate is looked for
  if (!folder.empty()) context.add_verify_path(folder, ignored);
  return {};
}

std::shared_ptr<TlsContext> new_context(TlsContext::method method) {
  auto context = std::make_shared<TlsContext>(method);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  // A connection that waits keeps no buffers inside OpenSSL.
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  return context;
}

// Its message is better than OpenSSL's for what goes wrong most.
Result<> is_readable(const std::string& file, std::string_view what) {
  if (file.empty())
    return fail(fmt::format("TLS needs a certificate and its key; no file of the {} is given", what),
                "name both, in PEM");
  if (access(file.c_str(), R_OK) == 0) return {};
  return fail(fmt::format("cannot read the {} from {}: {}", what, file, std::strerror(errno)),
              "give a file in PEM that this user may read");
}

}  // namespace

Result<std::shared_ptr<TlsContext>> make_tls_context(const std::string& ca_file) {
  auto context = new_context(TlsContext::tls_client);
  context->set_verify_mode(boost::asio::ssl::verify_peer);
  if (auto loaded = load_authorities(*context, ca_file); !loaded) return std::unexpected(loaded.error());
  return context;
}

Result<std::shared_ptr<TlsContext>> make_server_tls_context(const std::string& certificate_file,
                                                            const std::string& key_file) {
  if (auto there = is_readable(certificate_file, "certificate"); !there)
    return std::unexpected(there.error());
  if (auto there = is_readable(key_file, "key"); !there) return std::unexpected(there.error());
  auto context = new_context(TlsContext::tls_server);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION);
  boost::system::error_code error;
  // A service has nobody to ask for a passphrase.
  context->set_password_callback([](std::size_t, TlsContext::password_purpose) { return std::string(); },
                                 error);
  if (!error) context->use_certificate_chain_file(certificate_file, error);
  if (error)
    return fail(fmt::format("{} holds no certificate: {}", certificate_file, error.message()),
                "give a file in PEM, the server's own certificate first");
  context->use_private_key_file(key_file, TlsContext::pem, error);
  if (error && X509_R_KEY_VALUES_MISMATCH == ERR_GET_REASON(static_cast<unsigned long>(error.value())))
    return fail(fmt::format("the key in {} is not that of the certificate in {}", key_file, certificate_file),
                "give the two that were made together");
  if (error)
    return fail(fmt::format("{} holds no key that can be used: {}", key_file, error.message()),
                "give a file in PEM without a passphrase: openssl pkey -in KEY -out PLAIN");
  return context;
}

}  // namespace kw::http
