// A minimal supervisor: starts one sandbox, runs a function in it, and has seen its end when run() returns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sandbox.h"

namespace kw::sandbox_test {

struct Sandbox {
  kw_spawned spawned{};
  kw_exited exited{};
  bool has_exited = false;  // the packet arrived
  bool ended = false;       // init ended in time
  std::string output;       // the output of the body
  kw_cgroup_usage usage{};

  bool has(std::uint32_t layer) const { return (spawned.applied & layer) == layer; }
  bool has_one_of(std::uint32_t layers) const { return (spawned.applied & layers) != 0; }
  bool returned(int code) const;
  bool killed_by(int signal) const;
  std::string why_not(std::uint32_t layer) const;
};

// The function inside receives the write end of a pipe; its result is the exit code.
using Body = std::function<int(int out)>;

struct Setting {
  const char* name;
  std::uint32_t skip;  // layers to omit, as on a host that refuses them
  int reason = 0;      // the errno that such a host gave for each of these
};

struct Options {
  std::function<void()> before;   // in the middle, before it confines itself
  std::function<void()> started;  // in the supervisor, once the runner runs
  bool supervisor_dies = false;   // the socket is closed once the runner runs
};

kw_policy small_policy();
Sandbox run(const Setting& setting, const kw_policy& policy, const Body& body, const Options& options = {});

// A process of the test's own, with a runner's uid. Killed by the destructor.
class Bait {
 public:
  Bait();
  ~Bait();
  Bait(const Bait&) = delete;
  Bait& operator=(const Bait&) = delete;
  int pid() const { return pid_; }
  bool lives() const;

 private:
  int pid_;
};

// A folder of the test's own outside of every path that runners see, readable for all.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

std::string read_all(const std::string& path);

}  // namespace kw::sandbox_test
