// Requests answers for held-out rows and stores them; a killed run resumes from the stored answers.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/async/semaphore.h"
#include "base/async/wait.h"
#include "base/core/result.h"
#include "loop/model_client/chat.h"
#include "loop/run_store/trace_log.h"
#include "score/report/read_outputs.h"

namespace kw::scoring {

struct Question {
  std::string id;  // of the row; together with the sample number, it identifies an answer
  std::vector<Message> messages;
  std::optional<llm::Continuation> continuation = {};  // of a fill-in row; the messages are its fallback
};

// The question of a row: its messages unchanged, or its prompt as a user message. A fill-in row has its
// prompt as a text to continue, as in training.
Result<Question> question_of(const PromptRow& row, const ReadOptions& options);

struct AskOptions {
  std::size_t in_flight = 10;
  std::size_t samples = 1;
  llm::Sampling sampling;
  // Called after each answer, including stored ones.
  std::function<void(const std::string& id, const std::string& words, bool resumed)> answered;
  // Called once if the server has no /completions, so that fill-in rows are asked by chat.
  std::function<void(const std::string& line)> note;
};

// Asks each question `samples` times. Questions that failed because of the server stay open, and the same
// command asks them again; an Error if the server is unreachable.
class RowAsker {
 public:
  RowAsker(async::Loop& loop, async::Stop& stop, llm::ChatClient& chat, store::TraceLog& log,
           AskOptions options);

  async::Task<Result<>> run(const std::vector<Question>& questions);
  // Questions without an answer, and the reasons.
  const std::vector<std::string>& unanswered() const { return unanswered_; }

 private:
  async::Task<> ask(const Question& question, std::size_t sample);
  async::Task<Result<>> keep(const Question& question, std::size_t sample);
  async::Task<std::expected<llm::ChatAnswer, llm::ChatFailure>> request(const Question& question,
                                                                        std::size_t sample);
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
  bool lacks_completions_ = false;  // the server has no /completions
  std::vector<std::string> unanswered_;
  Result<> ended_;
};

}  // namespace kw::scoring
