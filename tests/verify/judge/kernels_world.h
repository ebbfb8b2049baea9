// A world in which the reference and the candidate launch several kernels, each with its own time.
#pragma once

#include <string>
#include <vector>

#include "verdict_world.h"

namespace kw::test {

struct Kernel {
  std::string name;
  std::string cubin_sha256;
  double time_ms = 0;
  std::uint64_t blocks = 100;
};
using Kernels = std::vector<Kernel>;

// Kernels of a library, and one that the broker attests.
inline Kernel gemm(double time_ms, std::uint64_t blocks = 100) {
  return {"sm90_gemm", "9e33", time_ms, blocks};
}
inline Kernel relu(double time_ms) {
  return {"at6native_relu", "11b", time_ms};
}
inline Kernel own(double time_ms) {
  return {"add", "c0ffee", time_ms};
}

struct KernelsWorld : VerdictWorld {
  KernelsWorld(Kernels theirs, Kernels its_own)
      : reference(std::move(theirs)), candidate(std::move(its_own)) {
    load(0, reference);
    load(1, candidate);
    load(2, candidate);
    fake.when("oracle", wire::Body::Draw, [this](const wire::BodyUnion& asked, Reaction&) {
      of_reference = asked.AsDraw()->slot == verify::reference_slot;
    });
    fake.when("replayer", wire::Body::Replay, [this](const wire::BodyUnion& asked, Reaction& usual) {
      if (!asked.AsReplay()->each_launch || usual.answer.type != wire::Body::Replayed) return;
      std::vector<double>& times_ms = usual.answer.AsReplayed()->launch_ms;
      times_ms.clear();
      for (const Kernel& each : of_reference ? reference : candidate) times_ms.push_back(each.time_ms);
      ++(of_reference ? reference_timings : candidate_timings);
    });
  }

  // The recording that is loaded as the nth.
  void load(int nth, const Kernels& kernels) {
    fake.when("replayer", wire::Body::LoadRecording, says<wire::ReplayableT>([kernels](auto& facts) {
                auto like = *facts.launches.at(0);
                facts.launches.clear();
                for (const Kernel& each : kernels) {
                  auto& launch = facts.launches.emplace_back(std::make_unique<wire::LaunchT>(like));
                  launch->name = each.name;
                  launch->cubin_sha256 = each.cubin_sha256;
                  launch->grid = {each.blocks / 2, 2, 1};
                }
                facts.launch_count = static_cast<std::uint32_t>(kernels.size());
                facts.operations = facts.launch_count;
              }),
              nth);
  }

  // Replays without any of these launches of the candidate are right.
  void is_right_without(std::vector<std::uint32_t> launches) {
    fake.when("replayer", wire::Body::Replay,
              [this](const wire::BodyUnion& asked, Reaction&) { skipped = asked.AsReplay()->skip; });
    fake.when("oracle", wire::Body::Judge, [this, launches](const wire::BodyUnion&, Reaction& usual) {
      if (skipped == launches) usual.answer.AsJudged()->right = true;
    });
  }

  Kernels reference;
  Kernels candidate;
  bool of_reference = false;  // the inputs drawn last
  int reference_timings = 0;  // replays with each launch timed by itself
  int candidate_timings = 0;
  std::vector<std::uint32_t> skipped;  // by the last replay
};

// A module that builds CUDA C++, for which the broker has no compiler: the claims of its process decide.
inline void builds_native_code(VerdictWorld& world) {
  world.job.candidate.code +=
      "from torch.utils.cpp_extension import load_inline\nm = load_inline('m', cuda_sources='int x;')\n";
  world.fake.when("runner", wire::Body::Call,
                  says<wire::ReturnedT>([](auto& call) { call.native_code = true; }));
  world.fake.when("broker", wire::Body::Attest, says<wire::AttestedT>([](auto& answer) {
                    answer.sources = 1;
                    answer.not_built = {"the installation has no nvcc"};
                  }));
}

}  // namespace kw::test
