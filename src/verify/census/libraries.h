// The shared libraries of an installation that hold kernels: PyTorch's, NVIDIA's, and other packages'.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kw::census {

struct Library {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;
};

// The libraries below these folders that have a section for fat binaries, each file once, sorted by path. A
// folder or file that cannot be read has none.
std::vector<Library> libraries_in(const std::vector<std::string>& folders);

// A hash of paths, sizes and times of change, of the compute capability and of the format of a census: a
// census with the same hash is the same.
std::string installation_of(const std::vector<Library>& libraries, unsigned capability);

}  // namespace kw::census
