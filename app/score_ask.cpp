#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "base/style.h"
#include "config/config.h"
#include "llm/scripted_model.h"
#include "results/progress.h"
#include "revision.h"
#include "run.h"
#include "schema/json.h"
#include "score_parts.h"
#include "session.h"
#include "store/run_reader.h"
#include "store/run_store.h"
#include "tasks/task_flow.h"
#include "version.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

Answers failed(const Error& error) {
  complain(error);
  return {exit_failure, {}, ""};
}

std::string model_of(store::RunReader& run) {
  auto info = run.info();
  return info ? string_at(info->settings, "model").value_or("") : "";
}

// The tasks' conversations that have ended, of those that are asked for now.
Result<> read_traces(store::RunReader& run, const std::set<std::string>& wanted, scoring::Collector& to) {
  while (true) {
    auto trace = run.next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) return {};
    if (wanted.contains((*trace)->task.task_id)) scoring::add_trace(**trace, scoring::JudgedBy::here, to);
  }
}

Answers ask_tasks(const ScoreOptions& options, const CLI::App& verb, const Questions& questions,
                  const std::string& model, const std::string& ending) {
  RunFlags run{options.flags.source, options.flags.model, options.flags.loop,
               options.settings,     options.evaluator,   {}};
  run.loop.multi_turn = false;
  if (!model.empty()) run.model.model = model;
  run.output.output = options.flags.beside(ending + ".json").string();
  run.output.fresh = options.flags.fresh;
  run.output.quiet = options.flags.quiet;
  run.output.summary = false;
  std::vector<TaskOrError> tasks(questions.tasks.begin(), questions.tasks.end());
  Answers answers;
  answers.status = run_tasks(run, verb, task_list(std::move(tasks)));
  if (answers.status != 0) return answers;
  auto reader = store::RunReader::open(run.output.run_folder(), store::Which::ended);
  if (!reader) return failed(reader.error());
  std::set<std::string> wanted;
  for (const TaskItem& item : questions.tasks) wanted.insert(item.task.task_id);
  scoring::ReadOptions read = read_options(options);
  scoring::Collector collector(read);
  if (auto got = read_traces(**reader, wanted, collector); !got) return failed(got.error());
  answers.set = collector.take();
  answers.model = model_of(**reader);
  return answers;
}

// What makes two runs over rows the same run. Which rows are asked is not part of it: each is found by its
// id.
json::object identity(const ScoreOptions& options) {
  const ScoreFlags& flags = options.flags;
  json::array paths(flags.source.paths.begin(), flags.source.paths.end());
  return {{"rows", std::move(paths)},
          {"prompt-column", flags.prompt_column},
          {"samples", flags.loop.samples_per_task},
          {"system-prompt", flags.loop.system_prompt},
          {"sampling", llm::to_json(flags.model.sampling)}};
}

// Asks rows: connection, store and what they are about.
class RowRun {
 public:
  RowRun(const ScoreOptions& options, const CLI::App& verb, std::string model, fs::path folder)
      : options_(options),
        verb_(verb),
        model_(std::move(model)),
        folder_(std::move(folder)),
        progress_({stderr, is_terminal(STDERR_FILENO), options.flags.quiet}, {}) {}

  Result<> add(const scoring::PromptRow& row);
  int run();
  const std::vector<std::string>& unanswered() const { return unanswered_; }

 private:
  async::Task<int> work();
  async::Task<Result<>> ask();
  async::Task<Result<>> connect();
  Result<> open_store();

  const ScoreOptions& options_;
  const CLI::App& verb_;
  std::string model_;
  fs::path folder_;
  Progress progress_;
  Session session_;
  std::unique_ptr<llm::ScriptedModel> scripted_;
  std::unique_ptr<llm::OpenAiClient> chat_;
  std::unique_ptr<store::RunStore> store_;
  std::vector<scoring::Question> questions_;
  std::vector<std::string> unanswered_;
  async::SteadyClock::time_point start_ = async::SteadyClock::now();
};

Result<> RowRun::add(const scoring::PromptRow& row) {
  auto question = scoring::question_of(row, read_options(options_));
  if (!question) return std::unexpected(question.error());
  if (const std::string& file = options_.flags.loop.system_prompt; !file.empty()) {
    auto text = read_text_file(file, std::size_t{1} << 20);
    if (!text) return std::unexpected(text.error());
    question->messages.insert(question->messages.begin(), Message{"system", std::move(*text)});
  }
  questions_.push_back(std::move(*question));
  return {};
}

async::Task<Result<>> RowRun::connect() {
  llm::ServerOptions server = options_.flags.model.server_options();
  if (!model_.empty()) server.model = model_;
  if (const std::string& recorded = options_.flags.model.replay; !recorded.empty()) {
    llm::ScriptedOptions script;
    script.files = {recorded};
    script.answer_time =
        std::chrono::milliseconds(static_cast<long>(options_.flags.model.replay_delay_s.value_or(0) * 1000));
    auto scripted = llm::ScriptedModel::start(session_.loop, std::move(script));
    if (!scripted) co_return std::unexpected(scripted.error());
    scripted_ = std::move(*scripted);
    server.base_url = scripted_->url();
    server.model.clear();
    server.api_key.clear();
  }
  auto chat = co_await llm::OpenAiClient::connect(session_.loop, session_.stop, std::move(server));
  if (!chat) co_return std::unexpected(chat.error());
  chat_ = std::move(*chat);
  co_return Result<>();
}

Result<> RowRun::open_store() {
  store::RunInfo info;
  info.settings = identity(options_);
  info.settings["model"] = chat_->model().name;
  info.config_toml = resolved_toml(verb_);
  info.program_version = kw_version;
  info.git_revision = kw_revision;
  auto store = store::RunStore::open(session_.loop, folder_, info, options_.flags.fresh);
  if (!store) return std::unexpected(store.error());
  store_ = std::move(*store);
  return {};
}

async::Task<Result<>> RowRun::ask() {
  if (auto connected = co_await connect(); !connected) co_return connected;
  if (auto opened = open_store(); !opened) co_return opened;
  scoring::AskOptions ask;
  ask.in_flight = options_.flags.model.batch_size;
  ask.samples = options_.flags.loop.samples_per_task;
  ask.sampling = options_.flags.model.sampling;
  ask.answered = [this](const std::string& id, const std::string& words, bool resumed) {
    if (resumed) return progress_.skipped();
    progress_.done(id, words, async::ms_since(start_) / 1000);
  };
  scoring::RowAsker asker(session_.loop, session_.stop, *chat_, *store_, std::move(ask));
  auto ended = co_await asker.run(questions_);
  unanswered_ = asker.unanswered();
  co_return ended;
}

async::Task<int> RowRun::work() {
  auto ended = co_await ask();
  progress_.finish();
  store_.reset();
  if (ended || session_.stop.requested()) co_return 0;
  complain(ended.error());
  co_return exit_failure;
}

int RowRun::run() {
  int status =
      session_.run([this] { return work(); }, [this] { progress_.tick(async::ms_since(start_) / 1000); });
  if (status == exit_interrupted)
    fmt::print(stderr, "interrupted; nothing that was answered is lost: the same command goes on\n");
  return status;
}

std::string row_name(const scoring::PromptRow& row) {
  return text_at(row.fields, "id").value_or(fmt::format("row_{}", row.number));
}

// Answers beside the rows that they are to.
Result<> join_rows(store::RunReader& run, const Questions& questions, scoring::Collector& to) {
  std::map<std::string, const scoring::PromptRow*> rows;
  for (const scoring::PromptRow& row : questions.rows) rows[row_name(row)] = &row;
  while (true) {
    auto trace = run.next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) return {};
    auto place = rows.find((*trace)->task.task_id);
    if (place == rows.end()) continue;
    const Conversation* round = best_round(**trace);
    // Declined, or too long: an answer without a word.
    const Turn* turn = round && !round->turns.empty() ? &round->turns.front() : nullptr;
    json::object fields = place->second->fields;
    fields["output"] = turn ? turn->completion : "";
    if (turn) fields["model"] = turn->model;
    auto output = scoring::row_output(fields, place->second->number, "", to.options());
    if (!output) return std::unexpected(output.error());
    to.add(std::move(*output));
  }
}

Answers ask_rows(const ScoreOptions& options, const CLI::App& verb, const Questions& questions,
                 const std::string& model, const std::string& ending) {
  allow_descriptors(2 * options.flags.model.batch_size + 1024);
  fs::path folder = options.flags.beside(ending + ".run");
  RowRun run(options, verb, model, folder);
  for (const scoring::PromptRow& row : questions.rows)
    if (auto added = run.add(row); !added) return failed(added.error());
  Answers answers;
  answers.status = run.run();
  if (answers.status != 0) return answers;
  auto reader = store::RunReader::open(folder, store::Which::ended);
  if (!reader) return failed(reader.error());
  scoring::ReadOptions read = read_options(options);
  scoring::Collector collector(read);
  if (auto joined = join_rows(**reader, questions, collector); !joined) return failed(joined.error());
  for (const std::string& why : run.unanswered()) collector.bad({folder.string(), 0, why, "run it again"});
  answers.set = collector.take();
  answers.model = model_of(**reader);
  return answers;
}

}  // namespace

Answers ask_model(const ScoreOptions& options, const CLI::App& verb, const Questions& questions,
                  const std::string& model, const std::string& ending) {
  return questions.rows.empty() ? ask_tasks(options, verb, questions, model, ending)
                                : ask_rows(options, verb, questions, model, ending);
}

}  // namespace kw::app
