#include "view/service_source.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <fstream>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/http/url.h"

namespace kw::view {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
namespace json = boost::json;

constexpr auto pause = 2s;
constexpr auto patience = 20s;
constexpr std::size_t part = 100;  // evaluations of a request

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

Error error_of(const std::string& url, int status) {
  if (status == 401) return {fmt::format("{} refuses the key", url), "set KERNELWRIGHT_EVALUATOR_KEY"};
  if (status == 404 || status == 405)
    return {fmt::format("{} lists no evaluations", url),
            "name a service of this version of kernelwright, with its port"};
  return {fmt::format("{} answered {}", url, status), "see the log of the service"};
}

}  // namespace

ServiceSource::ServiceSource(async::Loop& loop, std::string url, std::string key, fs::path folder)
    : url_(std::move(url)),
      key_(std::move(key)),
      folder_(std::move(folder)),
      file_(folder_ / "evaluations.jsonl"),
      client_(loop) {}

ServiceSource::~ServiceSource() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Result<std::unique_ptr<ServiceSource>> ServiceSource::open(async::Loop& loop, const std::string& url,
                                                           std::string key) {
  if (auto parsed = http::parse_url(url); !parsed) return std::unexpected(parsed.error());
  std::string folder = (fs::temp_directory_path() / "kernelwright-view-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    return fail(fmt::format("cannot make a folder for the verdicts of {}: {}", url, errno_text(errno)),
                "free space in the temporary folder, or name another with TMPDIR");
  auto source =
      std::unique_ptr<ServiceSource>(new ServiceSource(loop, without_slash(url), std::move(key), folder));
  std::ofstream made(source->file_);
  return source;
}

// The number of evaluations in the answer; appends the verdicts among them.
Result<std::size_t> ServiceSource::take(const std::string& body) {
  auto value = parse_json(body);
  const json::object* answer = value ? value->if_object() : nullptr;
  const json::value* list = answer ? answer->if_contains("evaluations") : nullptr;
  auto next = answer ? string_at(*answer, "next") : std::nullopt;
  if (!list || !list->is_array() || !next)
    return fail(fmt::format("{} is no service of kernelwright", url_), "check the address");
  std::error_code ignored;
  const auto before = fs::file_size(file_, ignored);
  std::ofstream file(file_, std::ios::app);
  for (const json::value& each : list->get_array()) {
    const json::object* record = each.if_object();
    const json::value* verdict = record ? record->if_contains("verdict") : nullptr;
    if (verdict && verdict->is_object()) file << json::serialize(*verdict) << '\n';
  }
  file.close();
  if (!file) {
    // The next fetch asks for the same part again.
    fs::resize_file(file_, before, ignored);
    return fail(fmt::format("cannot write {}", file_.string()), "free space in the temporary folder");
  }
  next_ = std::move(*next);
  return list->get_array().size();
}

async::Task<Result<std::size_t>> ServiceSource::fetch_part(async::Stop& stop) {
  http::Request request;
  request.url = fmt::format("{}/v1/evaluations?after={}&limit={}", url_, next_, part);
  if (!key_.empty()) request.headers.push_back({"Authorization", "Bearer " + key_});
  auto answer = co_await client_.send(request, async::Deadline::in(patience), &stop);
  if (!answer)
    co_return fail(fmt::format("cannot ask {}: {}", url_, answer.error().what), answer.error().remedy);
  if (answer->status != 200) co_return std::unexpected(error_of(url_, answer->status));
  co_return take(answer->body);
}

async::Task<Result<>> ServiceSource::fetch(async::Stop& stop) {
  while (!stop.requested()) {
    auto count = co_await fetch_part(stop);
    if (!count) co_return std::unexpected(count.error());
    if (*count < part) break;
  }
  co_return Result<>();
}

async::Task<> ServiceSource::follow(async::Stop& stop, OnFault fault) {
  std::string last;
  while (!stop.requested()) {
    co_await async::pause(pause, stop);
    if (stop.requested()) break;
    auto fetched = co_await fetch(stop);
    const std::string earlier = std::exchange(last, fetched ? std::string() : fetched.error().what);
    if (!fetched && last != earlier && !stop.requested()) fault(fetched.error());
  }
}

}  // namespace kw::view
