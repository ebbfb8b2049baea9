// The CUDA headers beside PyTorch lack this one, which belongs to the compiler's package. CUPTI's headers
// mark types with the macros below; for a host compiler they mean at most an alignment.
#pragma once

#define __host__
#define __device__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define CUDARTAPI
#define CUDARTAPI_CDECL
