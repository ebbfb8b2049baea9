#include "dataset/row_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace kw::dataset {

Result<> RowFiles::add(const std::string& path, const table::ReadOptions& options, const EachRow& each,
                       const EachBad& bad) {
  std::uint32_t first = count();
  auto opened = table::open_rows(path, options);
  if (!opened) return std::unexpected(opened.error());
  files_.push_back(std::move(*opened));
  first_.push_back(first);
  last_count_ = 0;
  while (true) {
    auto row = files_.back()->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    if (auto* error = std::get_if<RowError>(&**row)) {
      bad(*error);
      continue;
    }
    if (count() == std::numeric_limits<std::uint32_t>::max())
      return fail("there are more rows than can be numbered", "give fewer files at once");
    std::uint32_t number = count();
    ++last_count_;
    if (auto done = each(number, std::move(std::get<table::TextRow>(**row))); !done) return done;
  }
}

std::size_t RowFiles::index_of(std::uint32_t number) const {
  // A file without rows begins where the next one does: the last that begins there has the row.
  return static_cast<std::size_t>(std::ranges::upper_bound(first_, number) - first_.begin()) - 1;
}

std::string RowFiles::name(std::uint32_t number) const {
  std::size_t index = index_of(number);
  return fmt::format("{}, row {}", files_[index]->file(), number - first_[index] + 1);
}

Result<table::TextRow> RowFiles::at(std::uint32_t number) const {
  std::size_t index = index_of(number);
  return files_[index]->at(number - first_[index]);
}

Result<std::string> RowFiles::raw(std::uint32_t number) const {
  std::size_t index = index_of(number);
  return files_[index]->raw(number - first_[index]);
}

}  // namespace kw::dataset
