// Search: finds a text in the details of a model, a slice at a time, so that it streams and can be cancelled.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "view/live.h"
#include "view/model.h"

namespace kw::view {

struct SearchOptions {
  std::string text;         // letters of ASCII match in either case
  std::size_t limit = 200;  // of hits
};

class Search {
 public:
  Search(EditionPtr edition, const SearchOptions& options);
  ~Search();

  // Searches some rows, for at most about 30 ms; returns JSON lines {"key", "turn", "field", "line", "text"}.
  Result<std::string> next(Model& model);
  bool is_done() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::view
