#include "dataset_discover.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>

#include "dataset/fetch/catalogue.h"
#include "session.h"

namespace kw::app {
namespace {

using fetch::ListedKind;
using fetch::ListedSource;

constexpr std::size_t pin_digits = 12;  // of a commit in the table
constexpr std::size_t columns = 8;
using Cells = std::array<std::string, columns>;

std::string short_pin(const ListedSource& source) {
  return source.kind == ListedKind::git ? source.pin.substr(0, pin_digits) : source.pin;
}

std::string count(std::uint64_t value) {
  return value > 0 ? std::to_string(value) : "-";
}

Cells row_of(const ListedSource& source) {
  return {source.name,
          std::string(to_string(source.kind)),
          short_pin(source),
          source.licence,
          count(source.kernels.triton),
          count(source.kernels.cuda),
          count(source.kernels.pytorch),
          source.what};
}

void print_table(const std::vector<ListedSource>& sources) {
  std::vector<Cells> rows{{"name", "kind", "pin", "licence", "triton", "cuda", "pytorch", "what"}};
  for (const ListedSource& source : sources) rows.push_back(row_of(source));
  std::array<std::size_t, columns> widths{};
  for (const Cells& row : rows)
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const Cells& row : rows)
    fmt::print("{:<{}}  {:<{}}  {:<{}}  {:<{}}  {:>{}}  {:>{}}  {:>{}}  {}\n", row[0], widths[0], row[1],
               widths[1], row[2], widths[2], row[3], widths[3], row[4], widths[4], row[5], widths[5], row[6],
               widths[6], row[7]);
}

void print_one(const ListedSource& source) {
  fmt::print("{}\n\n", source.what);
  if (source.kind == ListedKind::git)
    fmt::print("repository: {}\ncommit: {}\n", source.url, source.pin);
  else
    fmt::print("archive: {}\nSHA-256: {}\n", source.archive, source.sha256);
  if (source.left_out > 0)
    fmt::print("left out: {} functions under other licences, which a build does not take\n", source.left_out);
  const auto commands = source.fetch_commands();
  if (!commands.empty()) fmt::print("\nfetch:\n");
  for (const std::string& command : commands) fmt::print("  {}\n", command);
  if (commands.empty())
    fmt::print("\nfetch: by the build; `pip download` would run code of this source distribution\n");
  fmt::print("\nbuild (fetches it):\n  {}\n", source.build_command());
}

}  // namespace

int dataset_discover(const DatasetDiscoverFlags& flags) {
  auto sources = fetch::catalogue();
  if (!sources) return failed(sources.error());
  // A complete name is that source alone, though others may contain it.
  auto named = std::ranges::find(*sources, flags.word, &ListedSource::name);
  std::vector<ListedSource> found;
  if (named != sources->end())
    found.push_back(*named);
  else
    std::ranges::copy_if(*sources, std::back_inserter(found),
                         [&](const ListedSource& source) { return fetch::matches(source, flags.word); });
  if (found.empty())
    return failed({.what = fmt::format("no source of the list matches \"{}\"", flags.word),
                   .remedy =
                       "`kernelwright dataset discover` prints the whole list; `dataset build` takes other "
                       "sources with --pypi NAME and --git URL"});
  if (flags.json) {
    for (const ListedSource& source : found)
      fmt::print("{}\n", boost::json::serialize(fetch::to_json(source)));
    return 0;
  }
  print_table(found);
  if (found.size() == 1) {
    fmt::print("\n");
    print_one(found.front());
  } else {
    fmt::print(stderr, "`kernelwright dataset discover NAME` prints the commands that fetch a source\n");
  }
  return 0;
}

}  // namespace kw::app
