// Packs details into chunks: lines of JSON, deflated, with their SHA-256. The chunks lie in an unnamed
// temporary file until the index, which comes first, can be written.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/files.h"
#include "base/core/result.h"
#include "report/model/model.h"

namespace kw::report {

// A zlib stream.
Result<std::string> deflated(std::string_view bytes);

struct Chunk {
  std::uint64_t raw_bytes = 0;
  std::string sha256;              // of the raw bytes
  std::uint64_t at = 0;            // in the temporary file
  std::uint64_t stored_bytes = 0;  // of the zlib stream
};

class ChunkPacker {
 public:
  // The temporary file lies in the folder.
  static Result<ChunkPacker> create(const std::filesystem::path& folder, std::size_t chunk_bytes);

  // Appends a detail as a line. One that is longer than a chunk gets a chunk of its own.
  Result<DetailPlace> add(const boost::json::object& detail);
  // Closes the last chunk.
  Result<> finish();

  const std::vector<Chunk>& chunks() const { return chunks_; }
  std::uint64_t stored_bytes() const { return stored_bytes_; }
  std::uint64_t raw_bytes() const { return raw_bytes_; }

  // The zlib stream of each chunk, one in memory at a time.
  Result<> each(const std::function<Result<>(std::size_t number, std::string_view stored)>& use) const;

 private:
  ChunkPacker(Fd file, std::size_t chunk_bytes) : file_(std::move(file)), chunk_bytes_(chunk_bytes) {}
  Result<> close();

  Fd file_;
  std::size_t chunk_bytes_;
  std::string open_;  // the raw bytes of the chunk that is not closed
  std::vector<Chunk> chunks_;
  std::uint64_t stored_bytes_ = 0;
  std::uint64_t raw_bytes_ = 0;
};

}  // namespace kw::report
