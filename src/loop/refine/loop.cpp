#include "loop/refine/loop.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/async/loop.h"
#include "loop/refine/loop_state.h"

namespace kw::refine {
namespace {

// The number of traces that are prepared before a request is free for them.
constexpr std::size_t lookahead = 4;

constexpr std::size_t reads_at_a_stretch = 32;
}  // namespace

Loop::Loop(async::Loop& loop, async::Stop& stop, llm::ChatClient& chat, verify::Verifier& verifier,
           store::TraceLog& log, Settings settings, Hooks hooks)
    : state_(
          std::make_unique<State>(loop, stop, chat, verifier, log, std::move(settings), std::move(hooks))) {}

Loop::~Loop() = default;

async::Task<Result<>> Loop::run(Source& source) {
  return state_->run(source);
}

Loop::State::State(async::Loop& on, async::Stop& until, llm::ChatClient& model, verify::Verifier& judge,
                   store::TraceLog& to, Settings how, Hooks told)
    : loop(on),
      stop(until),
      chat(model),
      verifier(judge),
      log(to),
      settings(std::move(how)),
      hooks(std::move(told)),
      changed(on),
      requests(on, std::max<std::size_t>(1, settings.requests_in_flight)),
      checks(on, settings.check_threads),
      shared(on, until, judge, {.known = [this](std::string work) { return known(std::move(work)); }}) {
  settings.requests_in_flight = std::max<std::size_t>(1, settings.requests_in_flight);
  settings.samples_per_task = std::max<std::size_t>(1, settings.samples_per_task);
  most_open = settings.requests_in_flight + 2 * verifier.width() + lookahead;
}

async::Task<Result<>> Loop::State::run(Source& source) {
  std::size_t reads = 0;
  for (;;) {
    if (wants_more()) {
      read_one(source);
      // Yields at intervals, so that requests and stops proceed while thousands of tasks are read.
      if (++reads % reads_at_a_stretch == 0)
        co_await boost::asio::post(co_await boost::asio::this_coro::executor, boost::asio::use_awaitable);
      continue;
    }
    pump();
    if (working == 0 && (ending() || exhausted)) break;
    changed.reset();
    co_await changed.wait();
  }
  queue.clear();
  // With few tasks, the source may end before enough requests have failed to break off the run.
  if (!error && answers == 0 && last_failure && !stop.requested())
    error = Error{"no request was answered: " + last_failure->what, last_failure->remedy};
  if (error) co_return std::unexpected(*error);
  co_return Result<>{};
}

// Reads a task only if a request will soon be free for it.
bool Loop::State::wants_more() const {
  std::size_t free = settings.requests_in_flight - requests.taken();
  return !ending() && !exhausted && open_traces < most_open && queue.size() + entering < free + lookahead;
}

void Loop::State::read_one(Source& source) {
  if (!item) {
    auto next = source.next();
    if (!next) {
      // Open traces are still finished.
      exhausted = true;
      error = next.error();
      return;
    }
    if (!*next) {
      exhausted = true;
      return;
    }
    if (auto* bad = std::get_if<RowError>(&**next)) {
      if (hooks.bad_task) hooks.bad_task(*bad);
      return;
    }
    item = std::move(std::get<Job>(**next));
    next_sample = 0;
  }
  OpenTracePtr open =
      new_trace({item->task.task_id, item->sample_number * settings.samples_per_task + next_sample});
  open->trace.task = item->task;
  if (++next_sample == settings.samples_per_task) item.reset();
  ++entering;
  start(enter(std::move(open)));
}

OpenTracePtr Loop::State::new_trace(store::TraceKey key) {
  ++open_traces;
  OpenTracePtr open(new OpenTrace, [this](OpenTrace* ended) {
    delete ended;
    --open_traces;
    changed.set();
  });
  open->trace.sample_number = key.sample_number;
  open->key = std::move(key);
  return open;
}

// Starts requests up to the limit.
void Loop::State::pump() {
  if (pumping) return;  // a request that is answered immediately calls pump() again
  pumping = true;
  while (!ending() && queue.size() > 0) {
    auto place = requests.try_take();
    if (!place) break;
    start(ask(queue.pop(), std::move(*place)));
  }
  pumping = false;
}

void Loop::State::start(async::Task<> work) {
  ++working;
  async::spawn(loop, std::move(work), [this](const std::exception_ptr& thrown) {
    if (thrown) break_off({"the loop broke: " + async::what_of(thrown), ""});
    --working;
    pump();
    changed.set();
  });
}

void Loop::State::break_off(Error why) {
  if (!error) error = std::move(why);
  stop.request(error->what);
}

bool Loop::State::kept(const Result<>& result) {
  if (!result) break_off(result.error());
  return result.has_value();
}

}  // namespace kw::refine
