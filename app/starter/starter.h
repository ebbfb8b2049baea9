// The pair that `kernelwright new` writes. The word `starter` in both texts stands for the pair's name.
#pragma once

namespace kw::app {

extern const char* const starter_reference;
extern const char* const starter_kernel;

}  // namespace kw::app
