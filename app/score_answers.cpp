#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <set>

#include "base/core/crypto.h"
#include "base/core/display.h"
#include "base/core/files.h"
#include "base/core/json.h"
#include "loop/model_client/scripted_model.h"
#include "loop/run_store/run_reader.h"
#include "loop/run_store/run_store.h"
#include "loop/tasks/source.h"
#include "options/config.h"
#include "output/progress.h"
#include "output/result_sink.h"
#include "output/results.h"
#include "pipeline.h"
#include "revision.h"
#include "run.h"
#include "score_parts.h"
#include "session.h"
#include "verifier_source.h"
#include "version.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

Answers no_answers(const Error& error) {
  complain(error);
  return {exit_failure, {}, ""};
}

std::string recorded_model(store::RunReader& run) {
  auto info = run.info();
  return info ? string_at(info->settings, "model").value_or("") : "";
}

// Adds the ended conversations of the wanted tasks.
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
  std::vector<JobOrError> tasks(questions.tasks.begin(), questions.tasks.end());
  Answers answers;
  answers.status = run_tasks(run, verb, job_list(std::move(tasks)));
  if (answers.status != 0) return answers;
  auto reader = store::RunReader::open(run.output.run_folder(), store::Which::ended);
  if (!reader) return no_answers(reader.error());
  std::set<std::string> wanted;
  for (const Job& job : questions.tasks) wanted.insert(job.task.task_id);
  scoring::ReadOptions read = read_options(options);
  scoring::Collector collector(read);
  if (auto got = read_traces(**reader, wanted, collector); !got) return no_answers(got.error());
  answers.set = collector.take();
  answers.model = recorded_model(**reader);
  return answers;
}

// The identity of a run over rows. The selection of rows is no part of it: each row is found by its id.
json::object row_run_identity(const ScoreOptions& options) {
  const ScoreFlags& flags = options.flags;
  json::array paths(flags.source.paths.begin(), flags.source.paths.end());
  return {{"rows", std::move(paths)},
          {"prompt-column", flags.prompt_column},
          {"samples", flags.loop.samples_per_task},
          {"system-prompt", flags.loop.system_prompt},
          {"sampling", llm::to_json(flags.model.sampling)}};
}

// A run over rows, with its connection and its store.
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
  info.settings = row_run_identity(options_);
  info.settings["model"] = chat_->model().name;
  if (std::ranges::any_of(questions_, [](const auto& question) { return question.continuation.has_value(); }))
    info.settings["fill-in"] = "completions";
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
  ask.note = [this](const std::string& line) { progress_.say(line); };
  scoring::RowAsker asker(session_.loop, session_.stop, *chat_, *store_, std::move(ask));
  auto ended = co_await asker.run(questions_);
  unanswered_ = asker.unanswered();
  co_return ended;
}

async::Task<int> RowRun::work() {
  auto ended = co_await ask();
  progress_.finish();
  store_.reset();
  if (ended || session_.interrupted()) co_return 0;
  complain(ended.error());
  co_return exit_failure;
}

int RowRun::run() {
  int status =
      session_.run([this] { return work(); }, [this] { progress_.tick(async::ms_since(start_) / 1000); });
  if (status == exit_interrupted)
    fmt::print(stderr, "interrupted; all answers are stored: the same command continues\n");
  return status;
}

std::string row_name(const scoring::PromptRow& row) {
  return text_at(row.fields, "id").value_or(fmt::format("row_{}", row.number));
}

// Joins answers with their rows.
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
    // A refused or too long question has an empty answer.
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
    if (auto added = run.add(row); !added) return no_answers(added.error());
  Answers answers;
  answers.status = run.run();
  if (answers.status != 0) return answers;
  auto reader = store::RunReader::open(folder, store::Which::ended);
  if (!reader) return no_answers(reader.error());
  scoring::ReadOptions read = read_options(options);
  scoring::Collector collector(read);
  if (auto joined = join_rows(**reader, questions, collector); !joined) return no_answers(joined.error());
  for (const std::string& why : run.unanswered()) collector.bad({folder.string(), 0, why, "run it again"});
  answers.set = collector.take();
  answers.model = recorded_model(**reader);
  return answers;
}

}  // namespace

Answers ask_model(const ScoreOptions& options, const CLI::App& verb, const Questions& questions,
                  const std::string& model, const std::string& ending) {
  return questions.rows.empty() ? ask_tasks(options, verb, questions, model, ending)
                                : ask_rows(options, verb, questions, model, ending);
}

namespace {

// The destination of a job's verdict.
struct Place {
  scoring::Output* output = nullptr;
  scoring::OutputSet* set = nullptr;
};

class Judging {
 public:
  Judging(const ScoreOptions& options, ResultSink sink, std::size_t total)
      : options_(options),
        sink_(std::move(sink)),
        progress_({stderr, is_terminal(STDERR_FILENO), options.flags.quiet}, total) {}

  // Moves the jobs out of the outputs; a prefix keeps the ids of different sets apart.
  SourcePtr jobs(std::span<scoring::OutputSet* const> sets);
  async::Task<int> run(Session* session, Source* source, EvaluatorPlan plan);
  void tick() { progress_.tick(seconds()); }

 private:
  Result<> judged(const Job& job, const Verdict& verdict);
  Result<bool> done_before(const Job& job, const std::string& work);
  void take(const Job& job, const Verdict& verdict);
  PipelineHooks hooks();
  double seconds() const { return async::ms_since(start_) / 1000; }

  const ScoreOptions& options_;
  ResultSink sink_;
  Progress progress_;
  std::map<std::string, Place> places_;
  async::SteadyClock::time_point start_ = async::SteadyClock::now();
};

SourcePtr Judging::jobs(std::span<scoring::OutputSet* const> sets) {
  std::vector<JobOrError> all;
  for (std::size_t i = 0; i < sets.size(); ++i)
    for (scoring::Output& output : sets[i]->outputs) {
      if (!output.job) continue;
      if (i > 0) output.job->id = "before/" + output.job->id;
      places_[output.job->id] = {&output, sets[i]};
      output.job->sample_number = 0;  // number_occurrences() sets it
      all.emplace_back(std::move(*output.job));
      output.job.reset();
    }
  return number_occurrences(job_list(std::move(all)));
}

void Judging::take(const Job& job, const Verdict& verdict) {
  Place place = places_.at(job.id);
  place.output->record.verdict =
      scoring::facts_of(verdict, scoring::JudgedBy::here, options_.settings.min_trust);
  place.set->environment = verdict.environment;
}

Result<> Judging::judged(const Job& job, const Verdict& verdict) {
  if (auto written = sink_.write(verdict, job.carried); !written) return written;
  take(job, verdict);
  progress_.done(job.id, in_words(result_row(verdict, {}, options_.settings.min_trust)), seconds());
  return {};
}

Result<bool> Judging::done_before(const Job& job, const std::string& work) {
  auto verdict = sink_.done(row_of(job, work));
  if (!verdict) return std::unexpected(verdict.error());
  if (!*verdict) return false;
  take(job, **verdict);
  progress_.skipped();
  return true;
}

PipelineHooks Judging::hooks() {
  return {[this](const Job& job, const Verdict& verdict) { return judged(job, verdict); },
          [](const RowError&) {},
          [this](const Job& job, const std::string& work) { return done_before(job, work); },
          [this](const std::string& work) { return sink_.equal(work).value_or(std::nullopt); }};
}

async::Task<int> Judging::run(Session* session, Source* source, EvaluatorPlan plan) {
  progress_.wait_for(start_words(plan));
  auto evaluator = co_await VerifierSource::start(session->loop, session->stop, std::move(plan),
                                                  [this](const std::string& line) { progress_.say(line); });
  progress_.wait_for("");
  if (!evaluator) {
    if (!session->interrupted()) complain(evaluator.error());
    co_return exit_failure;
  }
  Pipeline pipeline(session->loop, session->stop, (*evaluator)->verifier(), hooks());
  auto ended = co_await pipeline.run(*source);
  co_await (*evaluator)->end();
  progress_.finish();
  if (ended) co_return 0;
  complain(ended.error());
  co_return exit_failure;
}

}  // namespace

int judge(const ScoreOptions& options, std::span<scoring::OutputSet* const> sets) {
  std::size_t total = 0;
  for (const scoring::OutputSet* set : sets)
    for (const scoring::Output& output : set->outputs) total += output.job.has_value();
  if (total == 0) return 0;
  const std::string verdicts = options.flags.beside(".verdicts.jsonl").string();
  auto plan = plan_evaluator(options.evaluator, options.settings, {verdicts, options.flags.fresh});
  if (!plan) return failed(plan.error());
  auto sink = ResultSink::open({verdicts, options.flags.fresh, false});
  if (!sink) return failed(sink.error());
  Judging judging(options, std::move(*sink), total);
  SourcePtr source = judging.jobs(sets);
  Session session;
  int status = session.run([&] { return judging.run(&session, source.get(), std::move(*plan)); },
                           [&] { judging.tick(); });
  if (status == exit_interrupted)
    fmt::print(stderr, "interrupted; all verdicts are stored: the same command continues\n");
  return status;
}

}  // namespace kw::app
