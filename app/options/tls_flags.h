// Flags of the programs that can serve https: certificate and private key.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/core/result.h"

namespace kw {

struct TlsFlags {
  std::string certificate;  // empty: http
  std::string key;

  void add(CLI::App& app, const std::string& group);
  // An error if one is given without the other.
  Result<> check() const;
};

}  // namespace kw
