#include "loop/model_client/answer_reader.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <charconv>
#include <string>
#include <utility>

#include "base/core/text.h"

namespace kw::llm {

bool SseParser::feed(std::string_view piece) {
  while (!piece.empty()) {
    if (std::exchange(after_cr_, false) && piece.front() == '\n') {
      piece.remove_prefix(1);
      continue;
    }
    std::size_t end = piece.find_first_of("\r\n");
    line_ += piece.substr(0, end);
    if (line_.size() + event_.data.size() > max_event_bytes_) return false;
    if (end == std::string_view::npos) return true;
    after_cr_ = piece[end] == '\r';
    piece.remove_prefix(end + 1);
    end_line();
  }
  return true;
}

void SseParser::finish() {
  if (!line_.empty()) end_line();
  end_event();
}

void SseParser::end_line() {
  std::string line = std::exchange(line_, {});
  std::string_view text = line;
  if (std::exchange(first_line_, false) && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.empty()) return end_event();
  std::size_t colon = text.find(':');
  std::string_view field = text.substr(0, colon);  // empty for a comment
  std::string_view value = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") {
    event_.name = value;
  } else if (field == "data") {
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data += value;
  }
}

void SseParser::end_event() {
  SseEvent event = std::exchange(event_, {});
  if (std::exchange(has_data_, false)) on_event_(std::move(event));
}

namespace json = boost::json;
namespace {

std::optional<json::value> parse(std::string_view text) {
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  boost::system::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return {};
  return value;
}

// The code unit of "\uXXXX" at the beginning of the text.
std::optional<unsigned> escape_at(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return {};
  unsigned number = 0;
  auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, number, 16);
  if (error != std::errc() || end != text.data() + 6) return {};
  return number;
}

bool is_high(unsigned unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}

bool is_low(unsigned unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

std::string without_half_pairs(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t taken = 1;
    auto unit = escape_at(text);
    if (unit) {
      auto next = escape_at(text.substr(6));
      bool pair = is_high(*unit) && next && is_low(*next);
      bool half = !pair && (is_high(*unit) || is_low(*unit));
      taken = pair ? 12 : 6;
      out += half ? std::string_view("\\ufffd") : text.substr(0, taken);
    } else {
      if (text[0] == '\\' && text.size() > 1) taken = 2;  // "\\u" is an escaped backslash and a "u"
      out += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace

std::optional<json::value> parse_leniently(std::string_view text) {
  if (auto value = parse(text)) return value;
  if (text.find("\\u") == std::string_view::npos) return {};
  return parse(without_half_pairs(text));
}

namespace {

// JSON needs up to six bytes for a character, but usually one.
std::size_t max_text_bytes(std::size_t max_content_bytes) {
  return 3 * max_content_bytes + (std::size_t{64} << 10);
}

std::string body_excerpt(std::string_view text) {
  return to_plain_text(shorten(to_utf8(trim(text)), 120));
}

}  // namespace

AnswerReader::AnswerReader(std::size_t max_content_bytes)
    : max_content_bytes_(max_content_bytes),
      events_(max_text_bytes(max_content_bytes), [this](const SseEvent& event) { take_event(event); }) {}

bool AnswerReader::take(std::string_view piece) {
  if (flawed_) return false;
  if (form_ != Form::events) {
    head_ += piece;
    if (head_.size() > max_text_bytes(max_content_bytes_))
      spoil(Flaw::too_large, fmt::format("the answer is over {} bytes", max_text_bytes(max_content_bytes_)));
    if (form_ == Form::unknown) settle_form();
  } else if (!events_.feed(piece)) {
    spoil(Flaw::too_large,
          fmt::format("one event of the stream is over {} bytes", max_text_bytes(max_content_bytes_)));
  }
  return !flawed_;
}

void AnswerReader::settle_form() {
  std::size_t first = head_.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return;
  form_ = head_[first] == '{' || head_[first] == '[' ? Form::whole : Form::events;
  if (head_[first] == '<') return spoil(Flaw::malformed, "the server sent a web page instead of an answer");
  if (form_ != Form::events) return;
  std::string head = std::exchange(head_, head_.substr(0, 200));  // kept for error messages
  if (!events_.feed(head))
    spoil(Flaw::too_large, fmt::format("one event of the stream is over {} bytes", head.size()));
}

void AnswerReader::take_event(const SseEvent& event) {
  if (flawed_ || done_) return;
  std::string_view data = trim(event.data);
  if (data.empty()) return;
  if (data == "[DONE]") {
    done_ = true;
    return;
  }
  if (event.name == "error") {
    spoil(Flaw::error, "");
    flawed_->error = read_error(500, data);
    if (auto value = parse_leniently(data); value && value->is_object())
      if (auto error = error_in(value->get_object())) flawed_->error = std::move(*error);
    return;
  }
  take_object(data, false);
}

void AnswerReader::take_object(std::string_view text, bool whole) {
  auto value = parse_leniently(text);
  if (!value && text.starts_with("{\"error\"")) {
    // Some servers send an error whose text is not escaped for JSON.
    spoil(Flaw::error, "");
    flawed_->error.status = 500;
    flawed_->error.message = body_excerpt(text);
    return;
  }
  if (!value) return spoil(Flaw::malformed, fmt::format("the answer is not JSON: {}", body_excerpt(text)));
  if (!value->is_object())
    return spoil(Flaw::malformed, fmt::format("the answer is not a JSON object: {}", body_excerpt(text)));
  if (auto error = error_in(value->get_object())) {
    spoil(Flaw::error, "");
    flawed_->error = std::move(*error);
    return;
  }
  ++objects_;
  auto added = whole ? parts_.add_whole(value->get_object()) : parts_.add_chunk(value->get_object());
  if (!added) return spoil(Flaw::malformed, fmt::format("the answer is malformed: {}", added.error().what));
  if (parts_.bytes() > max_content_bytes_)
    spoil(Flaw::too_large, fmt::format("the answer is over {} bytes", max_content_bytes_));
}

std::expected<ChatAnswer, Flawed> AnswerReader::finish() {
  if (!flawed_ && form_ == Form::events) events_.finish();
  if (!flawed_ && form_ == Form::whole) take_object(trim(head_), true);
  if (!flawed_ && form_ == Form::unknown) spoil(Flaw::cut, "the server's answer is empty");
  if (!flawed_ && form_ == Form::events && !complete()) {
    if (objects_ > 0)
      spoil(Flaw::cut, "the stream ended before the end of the answer");
    else
      spoil(Flaw::malformed,
            fmt::format("the answer is neither JSON nor an event stream: {}", body_excerpt(head_)));
  }
  if (flawed_) return std::unexpected(*flawed_);
  return parts_.answer();
}

void AnswerReader::spoil(Flaw flaw, std::string what) {
  if (!flawed_) flawed_ = Flawed{flaw, std::move(what), {}};
}

}  // namespace kw::llm
