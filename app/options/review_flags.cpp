#include "options/review_flags.h"

#include <fmt/format.h>

#include <filesystem>

#include "options/parse.h"

namespace kw {

void ReviewFlags::add(CLI::App& app) {
  const std::string group = "Review";
  app.add_option("--review", log, "labels of `view --review` [review.jsonl in SOURCE, or beside it]")
      ->type_name("F")
      ->group(group);
  add_parsed<std::vector<ReviewLabel>>(
      app, "--leave-out", leave_out,
      [](const std::string& text) -> Result<std::vector<ReviewLabel>> {
        std::vector<ReviewLabel> labels;
        for (std::size_t at = 0; at <= text.size();) {
          std::size_t end = std::min(text.find(',', at), text.size());
          auto label = review_label(text.substr(at, end - at));
          if (!label)
            return fail(
                fmt::format("\"{}\" is not a list of {}", text, fmt::join(words_of<ReviewLabel>(), ", ")));
          labels.push_back(*label);
          at = end + 1;
        }
        return labels;
      },
      "leave out what the last review labelled so, like suspicious,unsure")
      ->type_name("LABEL,...")
      ->group(group);
}

Result<ReviewLabels> ReviewFlags::read(const std::string& source) const {
  std::error_code ignored;
  if (!log.empty() && !std::filesystem::exists(log, ignored))
    return fail(fmt::format("--review {}: the file does not exist", log), "name the review.jsonl of `view`");
  auto read = read_review_log(log.empty() ? review_log_path(source) : std::filesystem::path(log));
  if (!read) return std::unexpected(read.error());
  if (!leave_out.empty() && read->entries.empty())
    return fail(fmt::format("--leave-out: {} has no labels", source), "label answers with `view --review`");
  return ReviewLabels(*read);
}

}  // namespace kw
