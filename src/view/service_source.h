// Copies the ended evaluations of a service into a file of verdicts, which a model then reads.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "base/core/result.h"
#include "base/http/client.h"

namespace kw::view {

class ServiceSource {
 public:
  // `url`: of the service; `key`: empty if it needs none. Makes a folder for the file, which the destructor
  // removes.
  static Result<std::unique_ptr<ServiceSource>> open(async::Loop& loop, const std::string& url,
                                                     std::string key);
  ~ServiceSource();
  ServiceSource(const ServiceSource&) = delete;

  // Appends what has ended since. An error names the service.
  async::Task<Result<>> fetch(async::Stop& stop);
  // Fetches every two seconds until the stop. The service may be away meanwhile: `fault` is told once of each
  // new error in a row.
  using OnFault = std::move_only_function<void(const Error&)>;
  async::Task<> follow(async::Stop& stop, OnFault fault);

  const std::filesystem::path& file() const { return file_; }

 private:
  ServiceSource(async::Loop& loop, std::string url, std::string key, std::filesystem::path folder);
  async::Task<Result<std::size_t>> fetch_part(async::Stop& stop);
  Result<std::size_t> take(const std::string& body);

  std::string url_;
  std::string key_;
  std::filesystem::path folder_;
  std::filesystem::path file_;
  http::Client client_;
  std::string next_ = "0-0";
};

}  // namespace kw::view
