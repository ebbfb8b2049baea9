// The key of equal work, and SharedVerifier: a verifier around another one that judges equal work once for
// all jobs that ask for it, and at most as many works at a time as the other verifier is wide.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "types/job.h"
#include "verify/api/verifier.h"

namespace kw::verify {

class Verifier;

// 64 hex digits over everything that decides a verdict: the code and the entry points of reference and
// candidate, the input shapes in their order, and the protocol. Names of task and kernel are left out.
std::string work_key(const Job& job, std::string_view protocol);

// Under the protocol that the verifier has for the job's options.
std::string work_key(const Job& job, const Verifier& verifier);

// SharedVerifier: a verifier around another one. Equal work, by the key of its content, is judged once for
// all jobs that ask for it; at most as many works run at a time as the other verifier is wide.
class SharedVerifier : public Verifier {
  struct Flight;
  struct State;

 public:
  struct Hooks {
    // The verdict on this work from an earlier run, or nothing. Asked once for each work, before it is
    // judged.
    std::function<async::Task<std::optional<Verdict>>(std::string work)> known{};
    // Each verdict that the verifier gave, once, however many share it.
    std::function<void(const Verdict&)> judged{};
  };

  // The share of one job in a work. The work is stopped when its last share leaves.
  class Share {
   public:
    Share(Share&&) noexcept = default;
    Share& operator=(Share&&) = delete;
    ~Share() { leave(); }

    // Waits for the end of the work. The wait may outlive the share.
    async::Task<> ended() const;
    // Null before the end and if the work was stopped. The verdict has the names of the job that opened the
    // work.
    const Verdict* verdict() const;
    // Whether this share opened the work. A fault of the infrastructure is given to this share alone; the
    // others are judged again.
    bool is_first() const { return is_first_; }
    // True if this was the last share: the work is being stopped and ends later.
    bool leave();

   private:
    friend class SharedVerifier;
    Share(std::shared_ptr<Flight> flight, bool is_first);

    std::shared_ptr<Flight> flight_;
    bool is_first_;
    bool has_left_ = false;
  };

  // `stop` ends all at once. It and the verifier must outlive the work that was begun.
  SharedVerifier(async::Loop& loop, async::Stop& stop, Verifier& verifier, Hooks hooks);

  // Returns a verdict with the job's own names. An exception of the verifier becomes a fault of the
  // infrastructure. Such a fault is neither kept nor shared: the next waiting job is judged in its turn. The
  // last waiting job returns only after the work that it stopped.
  async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop& stop) override;
  // The same without a copy of the job.
  async::Task<std::optional<Verdict>> verify(std::shared_ptr<const Job> job, async::Stop& stop);
  std::size_t width() const override;
  const std::string& protocol() const override;
  std::string protocol_with(const JobOptions& options) const override;
  async::Task<Result<std::string>> find_protocol(JobOptions options) override;

  // The key may have names of groups in front, each with U+001F after it: groups do not share with each
  // other. A share in the work of that key: in one that is under way or was judged a while ago, else in a new
  // one.
  Share share(std::shared_ptr<const Job> job, const std::string& work);
  // A share in a new work, which others may join.
  Share share_anew(std::shared_ptr<const Job> job, const std::string& work);

  // Whether share() would join one.
  bool is_under_way(const std::string& work) const;
  // Number of works that have not ended, including those that are being stopped.
  std::size_t under_way() const;
  // Of these, the number whose key, with its groups, is among those that are meant.
  std::size_t under_way(const std::function<bool(std::string_view work)>& meant) const;
  void stop_all(const std::string& cause);

 private:
  static async::Task<> carry_out(std::shared_ptr<State> state, std::shared_ptr<Flight> flight);
  std::shared_ptr<State> state_;
};

}  // namespace kw::verify
