// The few CUPTI functions that the recorder calls, found at run time in the library that PyTorch has loaded.
#pragma once

#include <cupti.h>

#define KW_CUPTI_FUNCTIONS(F) \
  F(cuptiSubscribe) F(cuptiUnsubscribe) F(cuptiEnableCallback) F(cuptiEnableDomain) F(cuptiGetResultString)

namespace kw::recorder {

struct Cupti {
#define KW_MEMBER(name) decltype (&::name)(name) = nullptr;
  KW_CUPTI_FUNCTIONS(KW_MEMBER)
#undef KW_MEMBER
};

// Fills the table. Returns an empty text, or what is missing.
const char* load(Cupti& cupti);

}  // namespace kw::recorder
