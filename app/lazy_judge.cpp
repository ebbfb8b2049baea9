#include "lazy_judge.h"

#include <utility>

namespace kw::app {

void LazyJudge::tell(std::string_view what) {
  for (const Say& say : waiting_) say(what);
}

async::Task<> LazyJudge::start(LazyJudge* judge) {
  auto plan = plan_evaluator(judge->evaluator_, judge->settings_, {});
  if (!plan) {
    judge->failure_ = plan.error();
    co_return;
  }
  judge->tell(start_words(*plan));
  auto started = co_await VerifierSource::start(judge->session_.loop, judge->session_.stop, std::move(*plan),
                                                [judge](const std::string& line) { judge->tell(line); });
  if (!started) {
    judge->failure_ = started.error();
    co_return;
  }
  judge->source_ = std::move(*started);
  judge->verifier_ =
      std::make_unique<verify::SharedVerifier>(judge->session_.loop, judge->session_.stop,
                                               judge->source_->verifier(), verify::SharedVerifier::Hooks{});
}

async::Task<Result<verify::SharedVerifier*>> LazyJudge::ready(Say say) {
  if (!verifier_) {
    waiting_.push_back(std::move(say));
    if (!starting_) {
      starting_ = std::make_shared<async::Event>(session_.loop);
      async::spawn(session_.loop, start(this), [this](const std::exception_ptr& thrown) {
        if (thrown) failure_ = {"the verifier did not start: " + async::what_of(thrown), ""};
        waiting_.clear();
        std::exchange(starting_, nullptr)->set();
      });
    }
    auto starting = starting_;
    co_await starting->wait();
  }
  if (!verifier_) co_return std::unexpected(failure_);
  co_return verifier_.get();
}

async::Task<> LazyJudge::end() {
  if (auto starting = starting_) co_await starting->wait();
  if (source_) co_await source_->end();
}

}  // namespace kw::app
