// Test world of the loop: a scripted model, a verifier that reads its verdict from the code, a log in memory,
// and a source of tasks.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/async/wait.h"
#include "loop/refine/loop.h"

namespace kw::test {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// A valid module; the words in it decide the verdict.
std::string code(const std::string& words);
// The same in tags, in the form of a model's answer.
std::string answer(const std::string& words);

// Selected by the words in the code: fast, slow, right (speed unknown), library, zero (no evidence), wrong,
// broken, infra, invalid (the task), unsupported, reduced.
Verdict verdict_on(const Job& job);

// Simulated time that advances only when no coroutine can run: delays are exact and take no real time, and a
// deadlock is detected.
class Clock {
 public:
  explicit Clock(async::Loop& loop) : loop_(loop) {}

  // False where a stop came first.
  async::Task<bool> pause(milliseconds time, async::Stop& stop);
  // Advances to the next awaited moment; false where no coroutine waits.
  bool advance();
  milliseconds now{0};

 private:
  async::Loop& loop_;
  std::multimap<milliseconds, std::shared_ptr<async::Event>> waiting_;
};

class FakeChat : public llm::ChatClient {
 public:
  using Answer = std::expected<llm::ChatAnswer, llm::ChatFailure>;
  FakeChat(async::Stop& stop, Clock& clock) : stop_(stop), clock_(clock) {}

  async::Task<Answer> chat(const llm::ChatRequest& request) override;
  const llm::ModelInfo& model() const override { return info_; }

  std::function<Answer(const llm::ChatRequest&)> script = [](const llm::ChatRequest&) {
    return says("fast");
  };
  std::function<milliseconds(const llm::ChatRequest&)> time;  // none: answered at once
  std::vector<llm::ChatRequest> requests;
  std::size_t in_flight = 0;
  std::size_t most = 0;

  static Answer says(const std::string& words);
  static Answer fails(llm::ChatFault fault, const std::string& what = "no");

 private:
  async::Stop& stop_;
  Clock& clock_;
  llm::ModelInfo info_;
};

class FakeVerifier : public verify::Verifier {
 public:
  explicit FakeVerifier(Clock& clock) : clock_(clock) {}
  async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop& stop) override;
  std::size_t width() const override { return wide; }
  const std::string& protocol() const override { return protocol_; }
  std::string protocol_with(const JobOptions&) const override { return protocol_; }

  std::size_t wide = 2;
  std::function<milliseconds(const Job&)> time;
  std::vector<Job> jobs;
  std::size_t in_flight = 0;
  std::size_t most = 0;

 private:
  Clock& clock_;
  std::string protocol_ = "p";
};

class FakeLog : public store::TraceLog {
 public:
  using Traces = std::map<store::TraceKey, Trace>;
  async::Task<Result<std::optional<Trace>>> find(const store::TraceKey& key) override;
  async::Task<Result<>> begin(const store::TraceKey& key, const Trace& trace) override;
  async::Task<Result<>> save(const store::TraceKey& key, std::size_t round, const Turn& turn) override;
  async::Task<Result<>> save_judgement(const store::TraceKey& key, std::size_t round,
                                       const Turn& turn) override;
  async::Task<Result<>> end(const store::TraceKey& key, std::size_t round, const Conversation& conversation,
                            bool last) override;
  async::Task<Result<std::optional<Verdict>>> known_verdict(const std::string& work) override;

  Traces traces;
  std::vector<std::string> calls;     // the writes, in order
  std::vector<Traces> after;          // the contents of the disk after each of them
  std::optional<std::size_t> breaks;  // the number of the write that fails

 private:
  Result<> wrote(std::string what);
};

class Tasks : public Source {
 public:
  explicit Tasks(std::vector<std::string> names) : names_(std::move(names)) {}
  Result<std::optional<JobOrError>> next() override;
  std::size_t read = 0;
  std::optional<std::size_t> breaks;  // the number of the task at which the source breaks
  std::optional<std::size_t> bad;     // the number of a bad row

 private:
  std::vector<std::string> names_;
};

std::vector<std::string> names(std::size_t count);

// All parts of a run. The log outlives it, so that another world can continue.
struct World {
  explicit World(FakeLog& in) : log(in) { settings.check_threads = 0; }  // simulated time stops for no thread

  // In simulated time, or with check_threads in real time.
  Result<> run(Source& source);
  Result<> run(std::size_t tasks);

  // The trace of a task in the log.
  const Trace& trace(const std::string& name, std::size_t sample = 0) {
    return log.traces.at({name, sample});
  }

  async::Loop loop;
  async::Stop stop{loop};
  Clock clock{loop};
  FakeChat chat{stop, clock};
  FakeVerifier verifier{clock};
  FakeLog& log;
  refine::Settings settings;
  refine::Hooks hooks;
  std::vector<std::string> ended;    // task ids in order
  std::vector<std::string> resumed;  // those of them that an earlier run had ended
  std::size_t judged = 0;
  std::size_t reasoning_bytes = 0;  // in the traces in memory, at each verdict
  std::size_t bad_tasks = 0;
};

// A world with many turns.
struct MultiTurn : World {
  explicit MultiTurn(FakeLog& in) : World(in) {
    settings.multi_turn = true;
    settings.retry_failed = false;
  }
};

}  // namespace kw::test
