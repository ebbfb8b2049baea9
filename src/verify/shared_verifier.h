// SharedVerifier: a verifier around another one. Equal work is judged once for all who ask for it, by the key
// of its content, and at most as many works at a time as the other verifier is wide.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "verify/verifier.h"

namespace kw::verify {

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

  // What one job has of a work. The work is stopped when nobody has a share in it any more.
  class Share {
   public:
    Share(Share&&) noexcept = default;
    Share& operator=(Share&&) = delete;
    ~Share() { leave(); }

    // Ends with the work. The wait may outlive the share.
    async::Task<> ended() const;
    // Null before the end, and where the work was stopped. It bears the names of the job that opened the
    // work.
    const Verdict* verdict() const;
    // Whether this share opened the work. A fault of ours is this share's alone: the others have another
    // turn.
    bool is_first() const { return is_first_; }
    // True where nobody else has a share: the work is being stopped, and takes a while to end.
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

  // A verdict under the job's own names. What the verifier throws becomes a fault of the infrastructure. Such
  // a fault is neither kept nor shared: the next job of those that waited for it is judged in its turn. Where
  // nobody else waits, it ends only after the work that it stopped.
  async::Task<std::optional<Verdict>> verify(const Job& job, async::Stop& stop) override;
  std::size_t width() const override;
  const std::string& protocol() const override;
  std::string protocol_with(const JobOptions& options) const override;
  async::Task<Result<std::string>> find_protocol(JobOptions options) override;

  // A share in the work of that key: in one that is under way or was judged a while ago, else in a new one.
  Share share(std::shared_ptr<const Job> job, const std::string& work);
  // In a new one in any case, which others may join.
  Share share_anew(std::shared_ptr<const Job> job, const std::string& work);

  // Whether share() would join one.
  bool is_under_way(const std::string& work) const;
  // Works that have not ended, those that are being stopped among them.
  std::size_t under_way() const;
  void stop_all(const std::string& cause);

 private:
  static async::Task<> carry_out(std::shared_ptr<State> state, std::shared_ptr<Flight> flight);
  std::shared_ptr<State> state_;
};

}  // namespace kw::verify
