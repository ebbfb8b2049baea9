#include "report/page/page.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "base/core/crypto.h"
#include "base/core/files.h"
#include "base/core/json.h"
#include "report/page/assets.h"
#include "report/page/chunks.h"
#include "report/page/shell.h"

namespace kw::report {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

std::uint64_t base64_bytes(std::uint64_t bytes) {
  return (bytes + 2) / 3 * 4;
}

// Counts what it writes.
class Output {
 public:
  static Result<Output> create(const fs::path& path) {
    auto file = NewFile::create(path);
    if (!file) return std::unexpected(file.error());
    return Output(std::move(*file));
  }
  Result<> write(std::string_view bytes) {
    bytes_ += bytes.size();
    return file_.write(bytes);
  }
  Result<> finish() { return file_.finish(); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  explicit Output(NewFile file) : file_(std::move(file)) {}
  NewFile file_;
  std::uint64_t bytes_ = 0;
};

json::array chunks_json(const std::vector<Chunk>& chunks, bool is_split) {
  json::array list;
  for (const Chunk& chunk : chunks) {
    json::object facts{{"raw_bytes", chunk.raw_bytes}, {"sha256", chunk.sha256}};
    if (is_split) {
      facts["at"] = data_file_mark.size() + chunk.at;
      facts["stored_bytes"] = chunk.stored_bytes;
    }
    list.push_back(std::move(facts));
  }
  return list;
}

// Reads the model and packs its details. Returns the place of each.
Result<std::vector<DetailPlace>> pack(Model& model, ChunkPacker& packer) {
  std::vector<DetailPlace> places;
  auto read = model.read([&](std::size_t row, const json::object& detail) -> Result<> {
    auto place = packer.add(detail);
    if (!place) return std::unexpected(place.error());
    if (places.size() <= row) places.resize(row + 1);
    places[row] = *place;
    return {};
  });
  if (!read) return std::unexpected(read.error());
  if (auto finished = packer.finish(); !finished) return std::unexpected(finished.error());
  return places;
}

struct IndexText {
  std::string stored;  // base64 of a zlib stream
  std::uint64_t raw_bytes = 0;
};

Result<IndexText> index_text(const json::object& index) {
  std::string text = json::serialize(index);
  auto stored = deflated(text);
  if (!stored) return std::unexpected(stored.error());
  return IndexText{base64_encoded(*stored), text.size()};
}

// The index, with the chunks in the HTML file or in `data_file`.
json::object index_of(const Model& model, const ChunkPacker& packer, const PageOptions& options) {
  json::object index = to_json(model.index());
  index["summary"] = options.summary ? options.summary(model.index()) : json::object();
  index["chunks"] = chunks_json(packer.chunks(), false);
  return index;
}

void split(json::object& index, const ChunkPacker& packer, const fs::path& data_file) {
  index["chunks"] = chunks_json(packer.chunks(), true);
  index["data_file"] = json::object{{"name", data_file.filename().string()},
                                    {"bytes", data_file_mark.size() + packer.stored_bytes()}};
}

Result<> write_html(Output& html, const Model& model, const ChunkPacker& packer, const IndexText& index,
                    bool with_chunks) {
  ShellOptions shell{.title = model.index().title, .program_version = model.index().program_version};
  if (auto begun = html.write(shell_begin(shell)); !begun) return begun;
  if (auto written = html.write(fmt::format(
          "<script type=\"application/vnd.kernelwright.index\" data-raw-bytes=\"{}\">{}</script>\n",
          index.raw_bytes, index.stored));
      !written)
    return written;
  if (with_chunks) {
    auto written = packer.each([&](std::size_t number, std::string_view stored) {
      return html.write(
          fmt::format("<script type=\"application/vnd.kernelwright.chunk\" id=\"chunk-{}\">{}</script>\n",
                      number, base64_encoded(stored)));
    });
    if (!written) return written;
  }
  return html.write(shell_end);
}

Result<std::uint64_t> write_data(const fs::path& path, const ChunkPacker& packer) {
  auto data = Output::create(path);
  if (!data) return std::unexpected(data.error());
  if (auto begun = data->write(data_file_mark); !begun) return std::unexpected(begun.error());
  auto written = packer.each([&](std::size_t, std::string_view stored) { return data->write(stored); });
  if (!written) return std::unexpected(written.error());
  if (auto finished = data->finish(); !finished) return std::unexpected(finished.error());
  return data->bytes();
}

bool begins_with(const fs::path& file, std::size_t bytes, std::string_view mark) {
  std::ifstream stream(file, std::ios::binary);
  std::string head(bytes, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  return head.contains(mark);
}

// An earlier report's data file would not belong to the new page.
void remove_stale(const fs::path& data_file) {
  std::error_code ignored;
  if (is_data_file(data_file)) fs::remove(data_file, ignored);
}

}  // namespace

fs::path data_file_of(const fs::path& html) {
  fs::path data = html;
  return data.replace_extension(".kwdata");
}

bool is_page(const fs::path& file) {
  constexpr std::size_t head_bytes = 512;
  return begins_with(file, head_bytes, page_mark);
}

bool is_data_file(const fs::path& file) {
  return begins_with(file, data_file_mark.size(), data_file_mark);
}

Result<WrittenPage> write_page(Model& model, const PageOptions& options) {
  auto html = Output::create(options.output);
  if (!html) return std::unexpected(html.error());
  auto packer = ChunkPacker::create(fs::absolute(options.output).parent_path(), options.chunk_bytes);
  if (!packer) return std::unexpected(packer.error());
  auto places = pack(model, *packer);
  if (!places) return std::unexpected(places.error());
  model.set_places(*places);

  json::object index = index_of(model, *packer, options);
  auto text = index_text(index);
  if (!text) return std::unexpected(text.error());
  std::uint64_t one_file_bytes =
      base64_bytes(packer->stored_bytes()) + text->stored.size() + page_script().size();
  bool is_split = one_file_bytes > options.split_bytes && !packer->chunks().empty();
  fs::path data_file = is_split ? data_file_of(options.output) : fs::path();
  if (is_split) {
    split(index, *packer, data_file);
    text = index_text(index);
    if (!text) return std::unexpected(text.error());
  }
  index.clear();
  if (auto written = write_html(*html, model, *packer, *text, !is_split); !written)
    return std::unexpected(written.error());
  WrittenPage page{.data_file = data_file,
                   .html_bytes = html->bytes(),
                   .raw_bytes = packer->raw_bytes(),
                   .chunks = packer->chunks().size()};
  if (is_split) {
    auto bytes = write_data(data_file, *packer);
    if (!bytes) return std::unexpected(bytes.error());
    page.data_bytes = *bytes;
  }
  if (auto finished = html->finish(); !finished) return std::unexpected(finished.error());
  if (!is_split) remove_stale(data_file_of(options.output));
  return page;
}

}  // namespace kw::report
