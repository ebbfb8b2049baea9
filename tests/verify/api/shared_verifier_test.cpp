// Equal work is judged once; a failure of one request does not affect the others.
#include "verify/api/shared_verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <map>
#include <stdexcept>
#include <vector>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "types/job.h"

namespace kw::verify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Job job(const std::string& id, const std::string& code) {
  Job made;
  made.id = id;
  made.task.task_id = "task of " + id;
  made.sample_number = id.size();
  made.candidate.code = code;
  return made;
}

Verdict correct(const Job& of) {
  Verdict verdict;
  restamp(verdict, of);
  verdict.status = Status::correct;
  verdict.stage = Stage::done;
  return verdict;
}

async::Task<bool> set(std::shared_ptr<async::Event> event) {
  co_await event->wait();
  co_return true;
}

// Judges as scripted, once its gate is open.
class Judge : public Verifier {
 public:
  explicit Judge(async::Loop& loop) : gate(std::make_shared<async::Event>(loop)) { gate->set(); }

  async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop& stop) override {
    begun.push_back(job.id);
    most = std::max(most, ++running);
    co_await async::within(async::Deadline::never(), ignores_stops ? nullptr : &stop, set(gate));
    --running;
    if (stop.requested()) {
      stopped.push_back(job.id);
      co_return std::nullopt;
    }
    co_return verdict(job);
  }
  std::size_t width() const override { return wide; }
  const std::string& protocol() const override { return name; }
  std::string protocol_with(const JobOptions& options) const override {
    return name + std::to_string(options.correctness_trials.value_or(0));
  }

  std::shared_ptr<async::Event> gate;
  std::function<std::optional<Verdict>(const Job&)> verdict = correct;
  bool ignores_stops = false;  // ends with its result in spite of a stop, but late
  std::size_t wide = 4;
  std::string name = "p";
  std::vector<std::string> begun;
  std::vector<std::string> stopped;
  std::size_t running = 0;
  std::size_t most = 0;
};

struct World {
  // Requests a verdict on the job, stored in `verdicts`, under a new id.
  void ask(const Job& of, async::Stop* until = nullptr) {
    auto asking = [](World* in, Job wanted, async::Stop* stop) -> async::Task<> {
      auto verdict = co_await in->shared.verify(wanted, *stop);
      in->verdicts[wanted.id] = verdict;
    };
    async::spawn(loop, asking(this, of, until == nullptr ? &stop : until));
  }
  void ask(const std::string& id, const std::string& code, async::Stop* until = nullptr) {
    ask(job(id, code), until);
  }
  // Runs all that is ready.
  void go_on() {
    loop.restart();
    while (loop.poll() > 0) {
    }
  }
  void open_gate() {
    judge.gate->set();
    go_on();
  }

  async::Loop loop;
  async::Stop stop{loop};
  Judge judge{loop};
  std::map<std::string, Verdict> earlier;  // by the work's key
  std::size_t lookups = 0;
  std::vector<Verdict> judged;
  SharedVerifier shared{loop,
                        stop,
                        judge,
                        {.known = [this](std::string work) { return known(std::move(work)); },
                         .judged = [this](const Verdict& each) { judged.push_back(each); }}};
  std::map<std::string, std::optional<Verdict>> verdicts;

 private:
  async::Task<std::optional<Verdict>> known(std::string work) {
    ++lookups;
    auto found = earlier.find(work);
    if (found == earlier.end()) co_return std::nullopt;
    co_return found->second;
  }
};

TEST(SharedVerifier, EqualWorkIsJudgedOnceAndEachHasItsOwnNames) {
  World world;
  world.judge.gate->reset();
  Job named = job("a", "same");
  named.candidate.kernel_name = "fast";
  world.ask(named);
  world.ask("bb", "same");
  world.go_on();
  world.open_gate();
  world.ask("ccc", "same");
  world.go_on();
  EXPECT_THAT(world.judge.begun, ElementsAre("a"));
  EXPECT_EQ(world.judged.size(), 1U);
  EXPECT_EQ(world.verdicts["a"]->kernel_name, "fast");
  for (const char* id : {"bb", "ccc"}) {
    const Verdict& verdict = *world.verdicts[id];
    EXPECT_EQ(verdict.id, id);
    EXPECT_EQ(verdict.task_id, std::string("task of ") + id);
    EXPECT_EQ(verdict.sample_number, std::string_view(id).size());
    EXPECT_FALSE(verdict.kernel_name) << id;
    EXPECT_EQ(verdict.work, work_key(named, world.judge));
  }
}

TEST(SharedVerifier, OtherWorkUnderTheSameNameHasAVerdictOfItsOwn) {
  World world;
  world.judge.verdict = [](const Job& of) {
    Verdict verdict = correct(of);
    if (of.task.reference_code == "x + 2") verdict.status = Status::incorrect;
    return verdict;
  };
  Job right = job("a", "x + 1");
  right.task.reference_code = "x + 1";
  Job wrong = right;
  wrong.id = "b";
  wrong.task.reference_code = "x + 2";
  world.ask(right);
  world.ask(wrong);
  world.go_on();
  EXPECT_EQ(world.verdicts["a"]->status, Status::correct);
  EXPECT_EQ(world.verdicts["b"]->status, Status::incorrect);
}

TEST(SharedVerifier, OtherOptionsAreOtherWork) {
  World world;
  Job more = job("b", "same");
  more.options.correctness_trials = 9;
  world.ask("a", "same");
  world.ask(more);
  world.go_on();
  EXPECT_THAT(world.judge.begun, ElementsAre("a", "b"));
}

TEST(SharedVerifier, OnlySoManyWorksAtATimeAsTheVerifierIsWide) {
  World world;
  world.judge.wide = 2;
  world.judge.gate->reset();
  for (char c = 'a'; c < 'h'; ++c) world.ask(std::string(1, c), std::string(1, c));
  world.go_on();
  EXPECT_EQ(world.judge.running, 2U);
  world.open_gate();
  EXPECT_EQ(world.judge.most, 2U);
  EXPECT_EQ(world.verdicts.size(), 7U);
}

Verdict broken(const Job& of) {
  return no_verdict(of, "the fork server died");
}

TEST(SharedVerifier, AFaultOfOursIsNeitherSharedNorKept) {
  World world;
  world.judge.gate->reset();
  world.judge.verdict = [](const Job& of) { return of.id == "a" ? broken(of) : correct(of); };
  for (const char* id : {"a", "b", "c"}) world.ask(id, "same");
  world.go_on();
  world.open_gate();
  EXPECT_EQ(world.verdicts["a"]->fault, Fault::infrastructure);
  EXPECT_EQ(world.verdicts["b"]->status, Status::correct);
  EXPECT_EQ(world.verdicts["c"]->status, Status::correct);
  EXPECT_THAT(world.judge.begun, ElementsAre("a", "b"));
}

TEST(SharedVerifier, WhoAsksAfterAFaultOfOursIsJudgedAnew) {
  World world;
  world.judge.verdict = broken;
  world.ask("a", "same");
  world.go_on();
  world.judge.verdict = correct;
  world.ask("b", "same");
  world.go_on();
  EXPECT_EQ(world.verdicts["a"]->fault, Fault::infrastructure);
  EXPECT_EQ(world.verdicts["b"]->status, Status::correct);
}

TEST(SharedVerifier, WhereEverythingFailsEachHasATurnAndAllEnd) {
  World world;
  world.judge.verdict = broken;
  for (char c = 'a'; c < 'f'; ++c) world.ask(std::string(1, c), "same");
  world.go_on();
  EXPECT_EQ(world.verdicts.size(), 5U);
  EXPECT_EQ(world.judge.begun.size(), 5U);
}

TEST(SharedVerifier, AnExceptionEndsItsOwnWorkOnly) {
  World world;
  world.judge.wide = 1;
  world.judge.verdict = [](const Job& of) -> std::optional<Verdict> {
    if (of.id == "a") throw std::runtime_error("no such luck");
    if (of.id == "b") throw 7;
    return correct(of);
  };
  for (const char* id : {"a", "b", "c"}) world.ask(id, id);
  world.ask("shares", "a");
  world.go_on();
  EXPECT_THAT(*world.verdicts["a"]->error, HasSubstr("no such luck"));
  EXPECT_EQ(world.verdicts["a"]->fault, Fault::infrastructure);
  EXPECT_EQ(world.verdicts["a"]->task_id, "task of a");
  EXPECT_EQ(world.verdicts["b"]->fault, Fault::infrastructure);
  EXPECT_EQ(world.verdicts["c"]->status, Status::correct);
  EXPECT_EQ(world.verdicts["shares"]->status, Status::correct);
  EXPECT_EQ(world.shared.under_way(), 0U);
}

TEST(SharedVerifier, ALookupThatThrowsIsAFaultOfOurs) {
  World world;
  SharedVerifier shared(world.loop, world.stop, world.judge,
                        {.known = [](std::string) -> async::Task<std::optional<Verdict>> {
                          throw std::runtime_error("the disk is gone");
                        }});
  std::optional<Verdict> verdict;
  auto ask = [](SharedVerifier* in, async::Stop* stop, std::optional<Verdict>* into) -> async::Task<> {
    *into = co_await in->verify(job("a", "a"), *stop);
  };
  async::spawn(world.loop, ask(&shared, &world.stop, &verdict));
  world.go_on();
  ASSERT_TRUE(verdict);
  EXPECT_THAT(*verdict->error, HasSubstr("the disk is gone"));
}

TEST(SharedVerifier, NoVerdictWithoutAStopIsAFaultOfOurs) {
  World world;
  world.judge.verdict = [](const Job&) { return std::nullopt; };
  world.ask("a", "a");
  world.go_on();
  ASSERT_TRUE(world.verdicts["a"]);
  EXPECT_EQ(world.verdicts["a"]->fault, Fault::infrastructure);
}

TEST(SharedVerifier, OneWhoStopsLeavesTheOthersTheirWork) {
  World world;
  async::Stop first(world.loop);
  world.judge.gate->reset();
  world.ask("a", "same", &first);
  world.ask("b", "same");
  world.go_on();
  first.request("it went away");
  world.go_on();
  ASSERT_TRUE(world.verdicts.contains("a"));
  EXPECT_FALSE(world.verdicts["a"]);
  world.open_gate();
  EXPECT_EQ(world.verdicts["b"]->id, "b");
  EXPECT_THAT(world.judge.stopped, ElementsAre());
}

TEST(SharedVerifier, WorkThatNobodyWaitsForIsStopped) {
  World world;
  async::Stop both(world.loop);
  world.judge.gate->reset();
  world.ask("a", "same", &both);
  world.ask("b", "same", &both);
  world.go_on();
  both.request("they went away");
  world.go_on();
  EXPECT_THAT(world.judge.stopped, ElementsAre("a"));
  EXPECT_EQ(world.verdicts.size(), 2U);
  EXPECT_FALSE(world.verdicts["a"] || world.verdicts["b"]);
  EXPECT_EQ(world.shared.under_way(), 0U);
}

TEST(SharedVerifier, WorkThatIsBeingStoppedIsNotJoined) {
  World world;
  async::Stop first(world.loop);
  world.judge.gate->reset();
  world.judge.ignores_stops = true;
  world.ask("a", "same", &first);
  world.go_on();
  first.request("it went away");
  world.go_on();
  EXPECT_FALSE(world.verdicts.contains("a")) << "who goes last sees the work end";
  world.ask("b", "same");
  world.go_on();
  EXPECT_EQ(world.shared.under_way(), 2U);
  world.open_gate();
  EXPECT_THAT(world.judge.begun, ElementsAre("a", "b"));
  EXPECT_TRUE(world.verdicts.contains("a"));
  EXPECT_EQ(world.verdicts["b"]->status, Status::correct);
}

TEST(SharedVerifier, WorkThatWaitsForAPlaceIsStoppedToo) {
  World world;
  async::Stop waiting(world.loop);
  world.judge.wide = 1;
  world.judge.gate->reset();
  world.ask("a", "a");
  world.ask("b", "b", &waiting);
  world.go_on();
  waiting.request("it went away");
  world.go_on();
  EXPECT_TRUE(world.verdicts.contains("b"));
  world.open_gate();
  EXPECT_THAT(world.judge.begun, ElementsAre("a"));
}

TEST(SharedVerifier, AWaitThatIsCancelledLeavesTheOthersTheirWork) {
  World world;
  world.judge.gate->reset();
  boost::asio::cancellation_signal signal;
  auto asking = [](World* in) -> async::Task<> { co_await in->shared.verify(job("a", "same"), in->stop); };
  bool has_ended = false;
  boost::asio::co_spawn(world.loop, asking(&world),
                        boost::asio::bind_cancellation_slot(
                            signal.slot(), [&](const std::exception_ptr&) { has_ended = true; }));
  world.ask("b", "same");
  world.go_on();
  signal.emit(boost::asio::cancellation_type::terminal);
  world.go_on();
  EXPECT_TRUE(has_ended);
  world.open_gate();
  EXPECT_EQ(world.verdicts["b"]->status, Status::correct);
  EXPECT_THAT(world.judge.begun, ElementsAre("a"));
}

TEST(SharedVerifier, AStopOfAllEndsAllWithoutVerdicts) {
  World world;
  world.judge.wide = 1;
  world.judge.gate->reset();
  for (const char* id : {"a", "b", "c"}) world.ask(id, id[0] == 'c' ? "a" : id);
  world.go_on();
  world.stop.request("enough");
  world.go_on();
  EXPECT_EQ(world.verdicts.size(), 3U);
  for (const auto& [id, verdict] : world.verdicts) EXPECT_FALSE(verdict) << id;
  EXPECT_EQ(world.shared.under_way(), 0U);
  EXPECT_THAT(world.judge.begun, ElementsAre("a"));
}

TEST(SharedVerifier, AVerdictOfAnEarlierRunWillDo) {
  World world;
  Verdict before = correct(job("long ago", "same"));
  world.earlier[work_key(job("", "same"), world.judge)] = before;
  world.ask("a", "same");
  world.ask("b", "same");
  world.ask("c", "other");
  world.go_on();
  EXPECT_EQ(world.verdicts["a"]->id, "a");
  EXPECT_EQ(world.verdicts["b"]->task_id, "task of b");
  EXPECT_THAT(world.judge.begun, ElementsAre("c"));
  EXPECT_EQ(world.judged.size(), 1U);
  EXPECT_EQ(world.lookups, 2U);
}

TEST(SharedVerifier, AFaultOfOursFromAnEarlierRunWillNot) {
  World world;
  world.earlier[work_key(job("", "same"), world.judge)] = broken(job("long ago", "same"));
  world.ask("a", "same");
  world.go_on();
  EXPECT_EQ(world.verdicts["a"]->status, Status::correct);
}

// As a verifier does whose service was restarted.
TEST(SharedVerifier, AVerdictDuringWhichTheProtocolChangedIsNotKept) {
  World world;
  world.judge.verdict = [&](const Job& of) {
    world.judge.name = "q";
    return correct(of);
  };
  world.ask("a", "same");
  world.go_on();
  EXPECT_FALSE(world.verdicts["a"]->work);
  world.judge.name = "p";
  world.judge.verdict = correct;
  world.ask("b", "same");
  world.go_on();
  EXPECT_THAT(world.judge.begun, ElementsAre("a", "b"));
}

TEST(SharedVerifier, AShareAnewIsAWorkOfItsOwnThatOthersMayJoin) {
  World world;
  world.ask("a", "same");
  world.go_on();
  world.judge.gate->reset();
  auto fresh = std::make_shared<const Job>(job("b", "same"));
  const std::string work = work_key(*fresh, world.judge);
  auto share = world.shared.share_anew(fresh, work);
  EXPECT_TRUE(share.is_first());
  EXPECT_TRUE(world.shared.is_under_way(work));
  world.open_gate();
  EXPECT_THAT(world.judge.begun, ElementsAre("a", "b"));
  ASSERT_NE(share.verdict(), nullptr);
  EXPECT_EQ(share.verdict()->id, "b");
}

TEST(SharedVerifier, AShareThatWasMovedCountsOnce) {
  World world;
  world.judge.gate->reset();
  const std::string work = work_key(job("", "same"), world.judge);
  std::optional<SharedVerifier::Share> kept;
  {
    auto share = world.shared.share(std::make_shared<const Job>(job("a", "same")), work);
    kept.emplace(std::move(share));
  }
  world.go_on();
  EXPECT_TRUE(world.shared.is_under_way(work));
  kept.reset();
  world.go_on();
  EXPECT_THAT(world.judge.stopped, ElementsAre("a"));
}

TEST(Restamp, PutsTheJobsNamesInThePlaceOfOthers) {
  Job one = job("a", "code");
  one.candidate.kernel_name = "mine";
  Verdict verdict = correct(one);
  restamp(verdict, job("bb", "code"));
  EXPECT_EQ(verdict.id, "bb");
  EXPECT_EQ(verdict.task_id, "task of bb");
  EXPECT_EQ(verdict.sample_number, 2U);
  EXPECT_EQ(verdict.candidate_sha256, candidate_sha256("code"));
  EXPECT_FALSE(verdict.kernel_name);
  restamp(verdict, one);
  EXPECT_EQ(verdict.kernel_name, "mine");
}

}  // namespace
}  // namespace kw::verify
