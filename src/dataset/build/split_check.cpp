#include "dataset/build/split_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "dataset/build/jsonl.h"
#include "dataset/build/ordered.h"
#include "dataset/leakage/code_finder.h"
#include "dataset/pairs/pairs.h"
#include "dataset/units/row.h"

namespace kw::dataset {
namespace {

constexpr std::size_t least_answer_tokens = 32;

// The texts of a row in which code may be: of a hole the function as it was before. The answer to a request
// is a whole function.
std::vector<std::string> texts_of(const corpus::Row& row) {
  const bool request = row.hole && row.hole->rendering == "instruction";
  if (row.kind != corpus::RowKind::fim || request) return {row.prompt, row.completion};
  auto parts = pairs::parse_fim_prompt(row.prompt);
  if (!parts) return {row.prompt + row.completion};
  return {fmt::format("{}{}{}", parts->prefix, row.completion, parts->suffix)};
}

// The answers of validation rows, by the number of their line.
struct Answers {
  leak::CodeFinder finder;
  std::vector<std::uint64_t> lines;
};

Result<corpus::Row> row_of_line(const std::string& line, const std::filesystem::path& rows) {
  auto object = object_of(line, rows);
  if (!object) return std::unexpected(object.error());
  return corpus::row_from_json(*object);
}

Result<Answers> read_answers(const std::filesystem::path& rows) {
  Answers answers;
  std::uint64_t number = 0;
  auto read = each_line(rows, [&](const std::string& line, std::uint64_t) -> Result<> {
    const std::uint64_t here = number++;
    auto row = row_of_line(line, rows);
    if (!row) return std::unexpected(row.error());
    if (row->split == "train") return {};
    const auto language = near::language_of(texts_of(*row).back());
    if (answers.finder.add(row->completion, language, static_cast<std::uint32_t>(answers.lines.size()),
                           least_answer_tokens))
      answers.lines.push_back(here);
    return {};
  });
  if (!read) return std::unexpected(read.error());
  return answers;
}

// The validation code in one row: numbers of functions and of answers.
struct Seen {
  std::vector<std::uint32_t> functions;
  std::vector<std::uint32_t> answers;
};

class Search {
 public:
  Search(const std::filesystem::path& rows, const std::vector<ValidationFunction>& functions, Answers answers)
      : rows_(rows), answers_(std::move(answers)) {
    for (std::uint32_t i = 0; i < functions.size(); ++i)
      if (functions_.add(functions[i].text, functions[i].language, i)) ++found_.functions;
    found_.answers_searched = answers_.lines.size();
  }

  Result<ValidationCode> run(unsigned threads) {
    Result<> outcome;
    std::uint64_t number = 0;
    Ordered<std::string, Result<Seen>> pool(
        threads, [this](const std::string& line) { return look(line); },
        [&](Result<Seen> seen) {
          if (seen)
            take(*seen, number++);
          else if (outcome)
            outcome = std::unexpected(seen.error());
        });
    auto read = each_line(rows_, [&](std::string line, std::uint64_t) -> Result<> {
      pool.push(std::move(line));
      return outcome;
    });
    pool.finish();
    if (!read || !outcome) return std::unexpected(!read ? read.error() : outcome.error());
    found_.functions_found = functions_found_.size();
    for (std::uint32_t answer : answers_found_) found_.answers.push_back(answers_.lines[answer]);
    return std::move(found_);
  }

 private:
  Result<Seen> look(const std::string& line) const {
    auto row = row_of_line(line, rows_);
    if (!row) return std::unexpected(row.error());
    Seen seen;
    if (row->split != "train") return seen;
    for (const std::string& text : texts_of(*row)) {
      const auto language = near::language_of(text);
      auto functions = functions_.find(text, language);
      auto answers = answers_.finder.find(text, language);
      seen.functions.insert(seen.functions.end(), functions.begin(), functions.end());
      seen.answers.insert(seen.answers.end(), answers.begin(), answers.end());
    }
    return seen;
  }

  void take(const Seen& seen, std::uint64_t number) {
    if (!seen.functions.empty()) {
      found_.train_rows.push_back(number);
      functions_found_.insert(seen.functions.begin(), seen.functions.end());
      return;  // The row is left out with the answers in it.
    }
    answers_found_.insert(seen.answers.begin(), seen.answers.end());
  }

  const std::filesystem::path& rows_;
  Answers answers_;
  leak::CodeFinder functions_;
  ValidationCode found_;
  std::set<std::uint32_t> functions_found_;
  std::set<std::uint32_t> answers_found_;
};

// Returns the units that have no row any more.
Result<std::set<std::string>> leave_out(const std::filesystem::path& rows, std::vector<std::uint64_t> lines) {
  std::ranges::sort(lines);
  auto kept = NewFile::create(rows);
  if (!kept) return std::unexpected(kept.error());
  std::set<std::string> without;
  std::set<std::string> with;
  std::uint64_t number = 0;
  auto read = each_line(rows, [&](const std::string& line, std::uint64_t) -> Result<> {
    auto row = row_of_line(line, rows);
    if (!row) return std::unexpected(row.error());
    const bool out = std::ranges::binary_search(lines, number++);
    (out ? without : with).insert(row->unit);
    return out ? Result<>() : kept->write(line + "\n");
  });
  if (!read) return std::unexpected(read.error());
  if (auto done = kept->finish(); !done) return std::unexpected(done.error());
  for (const std::string& unit : with) without.erase(unit);
  return without;
}

}  // namespace

Result<std::vector<ValidationFunction>> validation_functions(const UnitStore& units, const UnitSplit& split) {
  std::vector<ValidationFunction> functions;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < units.cards().size(); ++i) {
    const UnitCard& card = units.cards()[i];
    if (!split.validation[i] || !seen.insert(card.key).second) continue;
    auto text = units.text(i);
    if (!text) return std::unexpected(text.error());
    bool python = card.kind == corpus::UnitKind::triton || card.kind == corpus::UnitKind::torch;
    functions.push_back({std::move(*text), python ? near::Language::python : near::Language::cpp});
  }
  return functions;
}

Result<ValidationCode> find_validation_code(const std::filesystem::path& rows,
                                            const std::vector<ValidationFunction>& functions,
                                            unsigned threads) {
  auto answers = read_answers(rows);
  if (!answers) return std::unexpected(answers.error());
  return Search(rows, functions, std::move(*answers)).run(threads);
}

Result<std::set<std::string>> keep_validation_apart(const std::filesystem::path& rows,
                                                    const std::vector<ValidationFunction>& functions,
                                                    unsigned threads, SplitFacts& facts) {
  auto found = find_validation_code(rows, functions, threads);
  if (!found) return std::unexpected(found.error());
  facts.train_left_out = found->train_rows.size();
  facts.answers_left_out = found->answers.size();
  std::vector<std::uint64_t> lines = found->train_rows;
  lines.insert(lines.end(), found->answers.begin(), found->answers.end());
  std::set<std::string> without_rows;
  if (!lines.empty()) {
    auto left_out = leave_out(rows, std::move(lines));
    if (!left_out) return left_out;
    without_rows = std::move(*left_out);
    found = find_validation_code(rows, functions, threads);
    if (!found) return std::unexpected(found.error());
  }
  facts.functions = found->functions;
  facts.answers = found->answers_searched;
  facts.functions_leaked = found->functions_found;
  facts.answers_leaked = found->answers.size();
  return without_rows;
}

}  // namespace kw::dataset
