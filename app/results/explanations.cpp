#include "results/explanations.h"

#include <fmt/format.h>

#include "explain/terminal.h"

namespace kw {

void Explanations::add(const Verdict& verdict, const explain::Sources& sources) {
  if (explain::level_of(verdict.status, verdict.counts) == explain::Level::none) return;
  if (texts_.size() == most)
    ++left_out_;
  else
    texts_.push_back(to_terminal(explain::explain(verdict, sources), style_));
}

std::string Explanations::text() const {
  std::string all;
  for (const std::string& text : texts_) all += "\n" + text;
  if (left_out_ > 0)
    all += fmt::format("\n{} more are not explained here: --json and --output have every verdict in full\n",
                       left_out_);
  return all.empty() ? all : all + "\n";
}

}  // namespace kw
