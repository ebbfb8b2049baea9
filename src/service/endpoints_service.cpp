#include <boost/json/serialize.hpp>

#include "service/body.h"
#include "service/endpoints.h"
#include "service/options_reader.h"
#include "service/responses.h"

namespace kw::service {
namespace {

namespace json = boost::json;

using Answer = std::function<http::Response()>;

Endpoint at_once(Answer answer) {
  auto shared = std::make_shared<Answer>(std::move(answer));
  return [shared](const Call&) {
    return [](std::shared_ptr<Answer> from) -> async::Task<http::Response> { co_return (*from)(); }(shared);
  };
}

Answered<JobOptions> options_of(const Call& call) {
  auto body = json_body(call);
  if (!body) return refuse(std::move(body.error()));
  const json::value* options = body->if_contains("options");
  if (!options || options->is_null()) return JobOptions{};
  return read_options(*options);
}

async::Task<http::Response> protocol(std::shared_ptr<const SelfPortrait> self, const Call& call) {
  auto options = options_of(call);
  if (!options) co_return refusal_response(options.error());
  auto hash = co_await self->protocol(std::move(*options));
  if (!hash) co_return refusal_response(hash.error());
  co_return json_response(200, json::object{{"protocol", *hash}});
}

}  // namespace

void add_service_endpoints(Routes& routes, SelfPortrait portrait) {
  auto self = std::make_shared<const SelfPortrait>(std::move(portrait));
  routes.add({"GET", "/health", at_once([self] { return self->health(); }), true});
  routes.add({"GET", "/metrics", at_once([self] {
                return http::Response{
                    200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, self->metrics()};
              })});
  routes.add({"GET", "/openapi.json", at_once([] { return json_response(200, std::string(openapi())); })});
  routes.add({"GET", "/v1/service", at_once([self] {
                auto portrait = self->service();
                return portrait ? json_response(200, *portrait) : refusal_response(portrait.error());
              })});
  routes.add({"POST", "/v1/protocol", [self](const Call& call) { return protocol(self, call); }});
}

}  // namespace kw::service
