#include "llm/answer_reader.h"

#include <fmt/format.h>

#include "base/text.h"
#include "llm/lenient_json.h"

namespace kw::llm {
namespace {

// A letter takes up to six bytes in JSON, mostly one.
std::size_t max_text_bytes(std::size_t max_content_bytes) {
  return 3 * max_content_bytes + (std::size_t{64} << 10);
}

std::string excerpt(std::string_view text) {
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
  if (head_[first] == '<') return spoil(Flaw::malformed, "a web page came instead of an answer");
  if (form_ != Form::events) return;
  std::string head = std::exchange(head_, head_.substr(0, 200));  // the beginning, to be shown
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
    // An error whose words were put into JSON unescaped.
    spoil(Flaw::error, "");
    flawed_->error.status = 500;
    flawed_->error.message = excerpt(text);
    return;
  }
  if (!value) return spoil(Flaw::malformed, fmt::format("the answer is not JSON: {}", excerpt(text)));
  if (!value->is_object())
    return spoil(Flaw::malformed, fmt::format("the answer is not a JSON object: {}", excerpt(text)));
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
      spoil(Flaw::cut, "the stream ended before the answer did");
    else
      spoil(Flaw::malformed,
            fmt::format("the answer is neither JSON nor an event stream: {}", excerpt(head_)));
  }
  if (flawed_) return std::unexpected(*flawed_);
  return parts_.answer();
}

void AnswerReader::spoil(Flaw flaw, std::string what) {
  if (!flawed_) flawed_ = Flawed{flaw, std::move(what), {}};
}

}  // namespace kw::llm
