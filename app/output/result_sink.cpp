#include "output/result_sink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstdio>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/rows/row_reader.h"
#include "output/output_file.h"
#include "types/verdict.h"

namespace kw {
namespace json = boost::json;
namespace {

// The beginning of every written line: it distinguishes an incomplete line from other text.
constexpr std::string_view beginning = R"({"schema":"kernelwright.verdict/1")";

// Behind whole verdicts, every beginning of a line is this program's. Alone it must name the program: other
// files begin with a brace as well.
bool may_be_torn(std::string_view text, bool is_behind_verdicts) {
  constexpr std::string_view named = R"({"schema":"kernelwright)";
  if (!is_behind_verdicts && !text.empty() && !text.starts_with(named)) return false;
  return text.starts_with(beginning) || beginning.starts_with(text);
}

Result<Verdict> parse_verdict(std::string_view text) {
  auto value = parse_json(text);
  if (!value) return std::unexpected(value.error());
  if (!value->is_object()) return fail("not a JSON object");
  return verdict_from_json(value->get_object());
}

Result<> write_all(int fd, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return fail(fmt::format("cannot write {}: {}", name, errno_text(errno)),
                  "free some space or name another --output; the same command continues");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace

RowKey row_of(const Job& job, const std::string& work) {
  return {job.task.task_id, job.sample_number, work};
}

Result<ResultSink> ResultSink::open(const SinkOptions& options) {
  auto sink = open_file(options);
  if (!sink || !options.fresh || sink->found_ == 0) return sink;
  if (auto aside = set_aside(options.output); !aside) return std::unexpected(aside.error());
  return open_file(options);
}

Result<ResultSink> ResultSink::open_file(const SinkOptions& options) {
  ResultSink sink;
  sink.options_ = options;
  if (options.output.empty()) return sink;
  sink.fd_ = Fd(::open(options.output.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!sink.fd_)
    return fail(fmt::format("cannot write {}: {}", options.output, errno_text(errno)),
                "give --output a file in a folder that exists");
  if (::flock(sink.fd_.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(fmt::format("another run writes {}", options.output), "wait for it, or name another file");
  if (auto read = sink.read_file(); !read) return std::unexpected(read.error());
  return sink;
}

Result<> ResultSink::read_file() {
  struct stat info{};
  if (::fstat(fd_.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  auto lines = open_lines(options_.output);
  if (!lines) return std::unexpected(lines.error());
  auto size = static_cast<std::uint64_t>(info.st_size);
  while (true) {
    auto line = lines->next();
    if (!line) return std::unexpected(line.error());
    if (!*line) return {};
    const std::string& text = (*line)->text;
    bool last = end_ + text.size() >= size;  // no newline after it
    auto verdict = parse_verdict(text);
    if (!verdict && !(last && may_be_torn(text, found_ > 0)))
      return not_ours(options_.output, "an output file of kernelwright",
                      fmt::format(" (line {} is {})", (*line)->number,
                                  (*line)->too_long ? "too long" : verdict.error().what));
    if (last) {
      if (auto ended = end_last_line(end_, size, verdict.has_value()); !ended) return ended;
    }
    if (!verdict) return {};
    remember(*verdict, {end_, text.size()});
    end_ += text.size() + 1;
    ++found_;
  }
}

// Completes a last line with its newline, or removes an incomplete line.
Result<> ResultSink::end_last_line(std::uint64_t line_begin, std::uint64_t size, bool whole) {
  if (whole) return write_all(fd_.get(), "\n", options_.output);
  if (line_begin == size || ::ftruncate(fd_.get(), static_cast<off_t>(line_begin)) == 0) return {};
  return fail(
      fmt::format("cannot remove the incomplete last line of {}: {}", options_.output, errno_text(errno)));
}

void ResultSink::remember(const Verdict& verdict, Place place) {
  // A fault of the infrastructure is judged again, and is no verdict on an equal candidate.
  if (!fd_ || !verdict.work || verdict.fault == Fault::infrastructure) return;
  rows_.insert_or_assign({verdict.task_id, verdict.sample_number, *verdict.work}, place);
  by_work_.try_emplace(*verdict.work, place);
}

Result<std::optional<Verdict>> ResultSink::load(const Place& place) const {
  std::string text(place.size, '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    ssize_t n =
        ::pread(fd_.get(), text.data() + done, text.size() - done, static_cast<off_t>(place.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(fmt::format("cannot read {} again: the file has changed", options_.output));
    done += static_cast<std::size_t>(n);
  }
  auto verdict = parse_verdict(text);
  if (!verdict) return fail(fmt::format("cannot read {} again: {}", options_.output, verdict.error().what));
  return std::move(*verdict);
}

Result<std::optional<Verdict>> ResultSink::done(const RowKey& row) const {
  auto found = rows_.find(row);
  if (found == rows_.end()) return std::nullopt;
  return load(found->second);
}

Result<std::optional<Verdict>> ResultSink::equal(const std::string& work) const {
  auto found = by_work_.find(work);
  if (found == by_work_.end()) return std::nullopt;
  return load(found->second);
}

Result<> ResultSink::write(const Verdict& verdict, const json::object& carried) {
  Place place{end_, 0};
  if (fd_) {
    std::string line = json::serialize(output_object(verdict, carried));
    place.size = line.size();
    if (auto written = append(line + '\n'); !written) return written;
  }
  remember(verdict, place);
  return show(verdict, carried);
}

Result<> ResultSink::append(const std::string& line) {
  auto written = write_all(fd_.get(), line, options_.output);
  if (written) {
    end_ += line.size();
  } else if (::ftruncate(fd_.get(), static_cast<off_t>(end_)) != 0 && errno != EINVAL) {  // EINVAL: a device
    written.error().what += "; its last line may be incomplete";
  }
  return written;
}

Result<> ResultSink::show(const Verdict& verdict, const json::object& carried) const {
  if (!options_.to_stdout) return {};
  std::string line = json::serialize(output_object(verdict, carried)) + '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  return flush_stdout();
}

}  // namespace kw
