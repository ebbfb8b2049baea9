// The units of all sources: a summary of each in memory, the rest on disk in the state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/files.h"
#include "base/core/result.h"
#include "base/core/words.h"
#include "dataset/units/row.h"
#include "dataset/units/unit.h"

namespace kw::dataset {

// What the folders of a file say about the code in it, the best first.
//   own          nothing
//   trial        tests, benchmarks, examples, documentation
//   third_party  code of others: `third_party`, `vendor`, or the package of another source
//   other_chip   an adaptation to another vendor's chip: `_ascend`, `kunlunxin`, `rocm`
BOOST_DEFINE_ENUM_CLASS(FolderRole, own, trial, third_party, other_chip)

// The properties of a unit that are needed without its text.
struct UnitCard {
  std::string id;
  corpus::UnitKind kind = corpus::UnitKind::triton;
  std::uint32_t source = 0;  // number of the source
  std::uint64_t begin = 0;   // of its line
  std::uint32_t length = 0;
  std::string name;
  std::string source_name;
  std::string path;                  // of its file, in the source
  std::vector<std::string> helpers;  // names of functions in its context, and its launcher's
  std::string spdx;
  bool allowed = false;  // by the rules about licences and hardware
  corpus::Target target = corpus::Target::neutral;
  std::string text_sha1;  // of the text as it is
  std::string key;        // SHA-1 of the normalised text
  std::string renamed_sha1;
  std::uint32_t text_bytes = 0;
  std::int64_t stars = -1;
  FolderRole folders = FolderRole::own;     // this and the next two: see originals.h
  std::uint32_t sources_with_its_code = 0;  // other sources with a unit of this one's source
  std::uint32_t licence_rank = 0;
  corpus::Labels labels;
};

class UnitStore {
 public:
  using Allowed = std::function<bool(const corpus::Unit&, const UnitCard&)>;

  // Reads the source's units once; calls `allowed` for each, possibly in several threads. `licence` is the
  // licence of its files that declare none; empty: unknown.
  Result<> add(const std::filesystem::path& units, std::uint32_t source, const corpus::Licence& licence,
               const Allowed& allowed, unsigned threads);

  std::vector<UnitCard>& cards() { return cards_; }
  const std::vector<UnitCard>& cards() const { return cards_; }
  // Cards [first, last) of a source.
  std::pair<std::size_t, std::size_t> of_source(std::uint32_t source) const;

  // May be called from several threads.
  Result<corpus::Unit> at(std::size_t number) const;
  Result<std::string> text(std::size_t number) const;

 private:
  struct File {
    std::filesystem::path path;
    Fd fd;
    corpus::Licence licence;  // of files that declare none
  };
  static Result<corpus::Unit> unit_of(std::string_view line, const File& file);

  std::vector<File> files_;  // by source
  std::vector<UnitCard> cards_;
};

}  // namespace kw::dataset
