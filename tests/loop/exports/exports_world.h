// A reader of traces in memory, and the members of an archive.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "../run_store/store_world.h"
#include "loop/run_store/run_reader.h"

namespace kw::exports {

class TracesInMemory : public store::TraceReader {
 public:
  explicit TracesInMemory(std::vector<Trace> traces, std::optional<store::RunFacts> about = {})
      : traces_(std::move(traces)), about_(std::move(about)) {}

  Result<std::optional<Trace>> next() override {
    if (at_ == traces_.size()) return std::nullopt;
    return traces_[at_++];
  }
  Result<std::optional<store::RunFacts>> facts() override { return about_; }

 private:
  std::vector<Trace> traces_;
  std::optional<store::RunFacts> about_;
  std::size_t at_ = 0;
};

// Name → bytes of a ZIP archive; a test fails if a name repeats.
inline std::map<std::string, std::string> members(const std::string& path) {
  std::map<std::string, std::string> found;
  struct archive* archive = archive_read_new();
  archive_read_support_format_zip(archive);
  EXPECT_EQ(archive_read_open_filename(archive, path.c_str(), 1 << 16), ARCHIVE_OK);
  struct archive_entry* entry = nullptr;
  while (archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
    std::string bytes(static_cast<std::size_t>(archive_entry_size(entry)), '\0');
    EXPECT_EQ(archive_read_data(archive, bytes.data(), bytes.size()), static_cast<la_ssize_t>(bytes.size()));
    EXPECT_TRUE(found.emplace(archive_entry_pathname(entry), std::move(bytes)).second);
  }
  archive_read_free(archive);
  return found;
}

}  // namespace kw::exports
