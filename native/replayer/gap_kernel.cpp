#include "gaps.h"

namespace kw::replayer {

// In PTX, which the driver compiles for its device when a replayer starts.
const char* const gap_kernel = R"ptx(
.version 7.8
.target sm_75
.address_size 64

// For each zone {from, to}: fills it with words that depend on their address and the key. Where `found` is an
// address, compares instead, and keeps there the least address that differs.
.visible .entry kw_gaps(.param .align 8 .b8 zones[2048], .param .u64 key, .param .u64 found) {
  .reg .pred %skip;
  .reg .b32 %block, %thread, %threads, %blocks, %zone, %byte, %shift;
  .reg .b64 %entry, %from, %to, %key, %found, %word, %step, %end, %value, %old, %differs, %place, %offset, %index;

  mov.u32 %zone, %ctaid.y;
  mov.b64 %entry, zones;
  mul.wide.u32 %offset, %zone, 16;
  add.s64 %entry, %entry, %offset;
  ld.param.u64 %from, [%entry];
  ld.param.u64 %to, [%entry+8];
  ld.param.u64 %key, [key];
  ld.param.u64 %found, [found];
  mov.u32 %block, %ctaid.x;
  mov.u32 %blocks, %nctaid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %threads, %ntid.x;
  mad.wide.u32 %index, %block, %threads, 0;
  cvt.u64.u32 %offset, %thread;
  add.s64 %index, %index, %offset;
  and.b64 %word, %from, -8;
  shl.b64 %index, %index, 3;
  add.s64 %word, %word, %index;
  mul.wide.u32 %step, %blocks, %threads;
  shl.b64 %step, %step, 3;

next_word:
  setp.ge.u64 %skip, %word, %to;
  @%skip bra done;
  xor.b64 %value, %word, %key;
  mul.lo.u64 %value, %value, 0x9E3779B97F4A7C15;
  shr.u64 %offset, %value, 32;
  xor.b64 %value, %value, %offset;
  mul.lo.u64 %value, %value, 0xD6E8FEB86659FD93;
  shr.u64 %offset, %value, 32;
  xor.b64 %value, %value, %offset;
  setp.lt.u64 %skip, %word, %from;
  @%skip bra bytes;
  add.s64 %end, %word, 8;
  setp.gt.u64 %skip, %end, %to;
  @%skip bra bytes;
  setp.ne.u64 %skip, %found, 0;
  @%skip bra compare_word;
  st.global.u64 [%word], %value;
  bra following;
compare_word:
  ld.volatile.global.u64 %old, [%word];
  xor.b64 %differs, %old, %value;
  setp.eq.u64 %skip, %differs, 0;
  @%skip bra following;
  // The lowest byte that differs.
  neg.s64 %offset, %differs;
  and.b64 %differs, %differs, %offset;
  clz.b64 %byte, %differs;
  sub.s32 %byte, 63, %byte;
  shr.u32 %byte, %byte, 3;
  cvt.u64.u32 %place, %byte;
  add.s64 %place, %place, %word;
  atom.global.min.u64 %old, [%found], %place;
  bra following;

bytes:
  mov.u32 %byte, 0;
next_byte:
  cvt.u64.u32 %place, %byte;
  add.s64 %place, %place, %word;
  setp.lt.u64 %skip, %place, %from;
  @%skip bra following_byte;
  setp.ge.u64 %skip, %place, %to;
  @%skip bra following_byte;
  shl.b32 %shift, %byte, 3;
  shr.u64 %differs, %value, %shift;
  and.b64 %differs, %differs, 255;
  setp.ne.u64 %skip, %found, 0;
  @%skip bra compare_byte;
  st.global.u8 [%place], %differs;
  bra following_byte;
compare_byte:
  ld.volatile.global.u8 %old, [%place];
  setp.eq.u64 %skip, %old, %differs;
  @%skip bra following_byte;
  atom.global.min.u64 %old, [%found], %place;
following_byte:
  add.s32 %byte, %byte, 1;
  setp.lt.u32 %skip, %byte, 8;
  @%skip bra next_byte;

following:
  add.s64 %word, %word, %step;
  bra next_word;
done:
  ret;
}
)ptx";

}  // namespace kw::replayer
