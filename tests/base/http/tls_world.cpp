#include "tls_world.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fstream>

#include "base/http/url.h"

namespace kw::http::test {

namespace asio = boost::asio;
namespace ssl = asio::ssl;

namespace {

template <class Write>
std::string pem(Write write) {
  BIO* memory = BIO_new(BIO_s_mem());
  write(memory);
  char* bytes = nullptr;
  long length = BIO_get_mem_data(memory, &bytes);
  std::string text(bytes, static_cast<std::size_t>(length));
  BIO_free(memory);
  return text;
}

void add_extension(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

async::Task<> answer_requests(ssl::context& context, tcp::socket& socket, const std::string& fixed) {
  ssl::stream<tcp::socket&> stream(socket, context);
  co_await stream.async_handshake(ssl::stream_base::server, asio::use_awaitable);
  std::string bytes(65'536, '\0');
  for (;;) {
    std::size_t count = co_await stream.async_read_some(asio::buffer(bytes), asio::use_awaitable);
    std::string answer = !fixed.empty() ? fixed
                                        : fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}",
                                                      count, bytes.substr(0, count));
    co_await asio::async_write(stream, asio::buffer(answer), asio::use_awaitable);
  }
}

async::Task<bool> pass_on(tcp::socket& from, tcp::socket& to) {
  std::string bytes(65'536, '\0');
  for (;;) {
    boost::system::error_code error;
    std::size_t count =
        co_await from.async_read_some(asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return true;
    co_await asio::async_write(to, asio::buffer(bytes, count),
                               asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return true;
  }
}

}  // namespace

Certificate make_certificate(const std::string& host) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1,
                             0);
  X509_set_issuer_name(certificate, name);
  add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate, NID_subject_alt_name, (is_address(host) ? "IP:" : "DNS:") + host);
  X509_sign(certificate, key, EVP_sha256());
  Certificate made{
      pem([&](BIO* to) { PEM_write_bio_X509(to, certificate); }),
      pem([&](BIO* to) { PEM_write_bio_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr); }),
  };
  X509_free(certificate);
  EVP_PKEY_free(key);
  return made;
}

TemporaryFile::TemporaryFile(const std::string& text) {
  std::string name = (std::filesystem::temp_directory_path() / "kw_http_XXXXXX").string();
  int fd = mkstemp(name.data());
  if (fd >= 0) close(fd);
  path_ = name;
  std::ofstream(path_) << text;
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

TlsServer::TlsServer(async::Loop& loop, const Certificate& certificate) {
  context_.use_certificate_chain(asio::buffer(certificate.certificate));
  context_.use_private_key(asio::buffer(certificate.key), ssl::context::pem);
  server_ = std::make_unique<RawServer>(loop, [this](tcp::socket& socket, int) -> async::Task<> {
    co_await answer_requests(context_, socket, answer_);
  });
}

void TlsServer::only_old_versions() {
  SSL_CTX_set_min_proto_version(context_.native_handle(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context_.native_handle(), TLS1_1_VERSION);
  SSL_CTX_set_cipher_list(context_.native_handle(), "ALL:@SECLEVEL=0");
}

TunnelProxy::TunnelProxy(async::Loop& loop, std::uint16_t to, std::string answer)
    : to_(to), answer_(std::move(answer)), server_(loop, [this](tcp::socket& socket, int) -> async::Task<> {
        using namespace asio::experimental::awaitable_operators;
        asked = co_await read_request(socket);
        co_await say(socket, answer_);
        if (!answer_.contains(" 200 ")) co_return;
        tcp::socket beyond(socket.get_executor());
        co_await beyond.async_connect({asio::ip::address_v4::loopback(), to_}, asio::use_awaitable);
        co_await (pass_on(socket, beyond) || pass_on(beyond, socket));
      }) {}

std::string TunnelProxy::url(const std::string& userinfo) const {
  return fmt::format("http://{}{}127.0.0.1:{}", userinfo, userinfo.empty() ? "" : "@", server_.port());
}

}  // namespace kw::http::test
