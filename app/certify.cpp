#include "certify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <map>
#include <memory>

#include "base/core/counted.h"
#include "base/core/display.h"
#include "loop/tasks/select_tasks.h"
#include "output/certificate_file.h"
#include "output/progress.h"
#include "session.h"
#include "types/trace.h"
#include "verifier_source.h"
#include "verify/explain/words.h"

namespace kw::app {
namespace {

constexpr std::size_t widest_id = 44;
constexpr std::size_t shown_marks = 3;  // of one task on a line of progress

std::string marks_in_words(const TaskCertificate& certificate, std::size_t most) {
  std::vector<std::string> words;
  for (TaskMark mark : certificate.marks)
    if (words.size() < most) words.push_back(in_words(mark, certificate));
  if (certificate.marks.size() > words.size())
    words.push_back(fmt::format("{} more", certificate.marks.size() - words.size()));
  return words.empty() ? "no mark" : fmt::format("{}", fmt::join(words, ", "));
}

std::string summary_of(const TaskCertificate& certificate, std::size_t most) {
  if (certificate.fault == Fault::infrastructure)
    return "error: " + certificate.error.value_or("no certificate");
  std::string words = marks_in_words(certificate, most);
  if (certificate.error) words += ": " + *certificate.error;
  return words;
}

class Certification {
 public:
  Certification(const CertifyFlags& flags, SourcePtr source, CertificateFile file)
      : flags_(flags),
        source_(std::move(source)),
        file_(std::move(file)),
        progress_({stderr, is_terminal(STDERR_FILENO), flags.quiet}, source_->total()) {}

  async::Task<int> run(verify::LocalVerifier::Options host) {
    progress_.wait_for("starting Python with PyTorch");
    auto verifier = co_await verify::LocalVerifier::start(session_.loop, session_.stop, std::move(host));
    progress_.wait_for("");
    if (!verifier) co_return session_.interrupted() ? exit_interrupted : failed(verifier.error());
    verifier_ = std::move(*verifier);
    start_ = async::SteadyClock::now();
    async::Event ended(session_.loop);
    std::size_t at_work = verifier_->width();
    for (std::size_t worker = verifier_->width(); worker > 0; --worker)
      async::spawn(session_.loop, work(), [&](const std::exception_ptr& thrown) {
        if (thrown) broke({"cannot examine a task: " + async::what_of(thrown), ""});
        if (--at_work == 0) ended.set();
      });
    co_await ended.wait();
    co_await verifier_->end();
    progress_.finish();
    if (trouble_) complain(*trouble_);
    if (!flags_.quiet && !flags_.json) print_table();
    co_return trouble_ || has_failures_ ? exit_failure : 0;
  }

  Session& session() { return session_; }
  void tick() { progress_.tick(async::ms_since(start_) / 1000); }
  std::size_t made() const { return certificates_.size(); }

 private:
  async::Task<> work() {
    while (auto task = next()) {
      const std::string key = verifier_->certificate_work(*task);
      if (const TaskCertificate* known = file_.done(key)) {
        TaskCertificate certificate = *known;
        certificate.id = task->id;
        certificate.task_id = task->task.task_id;
        progress_.skipped();
        take(std::move(certificate));
        continue;
      }
      auto certificate = co_await verifier_->certify(*task, session_.stop);
      if (!certificate) co_return;
      if (auto kept = file_.add(*certificate); !kept) broke(kept.error());
      progress_.done(certificate->id, for_log(summary_of(*certificate, shown_marks)),
                     async::ms_since(start_) / 1000);
      take(std::move(*certificate));
    }
  }

  // The next task; nothing at the end, after a stop and after an error.
  std::unique_ptr<Job> next() {
    while (!session_.stop.requested() && !trouble_) {
      auto read = source_->next();
      if (!read) broke(read.error());
      if (!read || !*read) return nullptr;
      if (auto* error = std::get_if<RowError>(&**read)) {
        progress_.say("error: " + describe(*error));
        has_failures_ = true;
        continue;
      }
      auto job = std::make_unique<Job>(std::move(std::get<Job>(**read)));
      if (job->sample_number > 0) continue;  // the same task again
      job->id = job->task.task_id.starts_with("sha256:") ? sample_key(job->task) : job->task.task_id;
      return job;
    }
    return nullptr;
  }

  void take(TaskCertificate certificate) {
    if (flags_.json) fmt::print("{}\n", boost::json::serialize(to_json(certificate)));
    const bool is_asked_for = std::ranges::any_of(certificate.marks, [&](TaskMark mark) {
      return std::ranges::find(flags_.fail_on, mark) != flags_.fail_on.end();
    });
    if (certificate.fault == Fault::infrastructure || is_asked_for) has_failures_ = true;
    certificates_.push_back(std::move(certificate));
  }

  void broke(Error error) {
    if (!trouble_) trouble_ = std::move(error);
    session_.stop.request(trouble_->what);
  }

  void print_table() {
    std::ranges::sort(certificates_, {}, &TaskCertificate::id);
    std::size_t width = 4;
    for (const TaskCertificate& each : certificates_)
      width = std::max(width, std::min(widest_id, cells(visible_line(each.id))));
    std::map<TaskMark, std::size_t> counts;
    std::size_t unmarked = 0;
    for (const TaskCertificate& each : certificates_) {
      for (TaskMark mark : each.marks) ++counts[mark];
      if (each.marks.empty() && !each.error) ++unmarked;
      const std::string id = fitted(visible_line(each.id), widest_id);
      fmt::print("{}\n",
                 for_log(fmt::format("{}{}  {}", id, std::string(width - std::min(width, cells(id)), ' '),
                                     visible_line(summary_of(each, each.marks.size())))));
    }
    fmt::print("\n{}, {} without a mark\n", counted(certificates_.size(), "task"), unmarked);
    for (const auto& [mark, count] : counts)
      fmt::print("{:>6}  {:<15}  {}\n", count, to_string(mark), explain::words_of(mark).what);
  }

  const CertifyFlags& flags_;
  SourcePtr source_;
  CertificateFile file_;
  Progress progress_;
  Session session_;
  std::unique_ptr<verify::LocalVerifier> verifier_;
  async::SteadyClock::time_point start_ = async::SteadyClock::now();
  std::vector<TaskCertificate> certificates_;
  std::optional<Error> trouble_;
  bool has_failures_ = false;
};

}  // namespace

int certify(const CertifyFlags& flags) {
  auto source = select_tasks(flags.source, flags.seed, parquet_helper(flags.settings.python));
  if (!source) return failed(source.error());
  auto host = on_this_host(flags.settings);
  if (!host) return failed(host.error());
  auto file = CertificateFile::open(flags.output, flags.fresh);
  if (!file) return failed(file.error());
  if (auto owner = own_processes(); !owner) return failed(owner.error());
  Certification certification(flags, std::move(*source), std::move(*file));
  const int status = certification.session().run([&] { return certification.run(std::move(*host)); },
                                                 [&] { certification.tick(); });
  if (status == exit_interrupted)
    fmt::print(stderr, "interrupted after {}{}\n", counted(certification.made(), "task"),
               flags.output.empty() ? "; with --output FILE the same command goes on"
                                    : "; the same command goes on");
  return status;
}

}  // namespace kw::app
