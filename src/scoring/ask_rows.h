// Held-out rows to a model, answers into a store: a run that is killed goes on from what is there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/semaphore.h"
#include "async/stop.h"
#include "base/result.h"
#include "llm/chat.h"
#include "scoring/read_outputs.h"
#include "store/trace_log.h"

namespace kw::scoring {

struct Question {
  std::string id;  // the row's: with the sample number it is what an answer is found again by
  std::vector<Message> messages;
};

// The question that a row asks: its messages as they are, or its prompt as what the user says.
Result<Question> question_of(const PromptRow& row, const ReadOptions& options);

struct AskOptions {
  std::size_t in_flight = 10;
  std::size_t samples = 1;
  llm::Sampling sampling;
  // After each answer, or each one that is there already.
  std::function<void(const std::string& id, const std::string& words, bool resumed)> answered;
};

// Asks each question `samples` times. What fails for want of the server stays open, and is asked again by the
// same command; an Error where the server is gone.
class RowAsker {
 public:
  RowAsker(async::Loop& loop, async::Stop& stop, llm::ChatClient& chat, store::TraceLog& log,
           AskOptions options);

  async::Task<Result<>> run(const std::vector<Question>& questions);
  // Questions left without an answer, and why.
  const std::vector<std::string>& unanswered() const { return unanswered_; }

 private:
  async::Task<> ask(const Question& question, std::size_t sample);
  async::Task<Result<>> keep(const Question& question, std::size_t sample);
  async::Task<Result<>> take(const store::TraceKey& key,
                             std::expected<llm::ChatAnswer, llm::ChatFailure> answer);
  void broke_off(Result<> why);

  async::Loop& loop_;
  async::Stop& stop_;
  llm::ChatClient& chat_;
  store::TraceLog& log_;
  AskOptions options_;
  async::Semaphore requests_;
  std::size_t failed_in_row_ = 0;
  std::vector<std::string> unanswered_;
  Result<> ended_;
};

}  // namespace kw::scoring
