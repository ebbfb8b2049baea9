// The random generator of src/score/metrics/intervals.h: xoshiro256** 1.0, its state filled by SplitMix64 from
// the seed. It gives the same numbers as the C++ code, so that both give the same intervals. A 64-bit number is
// two unsigned 32-bit halves here, because BigInt is about 50 times slower.

const WORD = 0x1_0000_0000;
const MASK_64 = (1n << 64n) - 1n;

// The four words of the state, each as high and low half.
function splitMix(seed: number): Int32Array {
  const state = new Int32Array(8);
  let at = BigInt(seed) & MASK_64;
  for (let word = 0; word < 4; ++word) {
    at = (at + 0x9e3779b97f4a7c15n) & MASK_64;
    let mixed = at;
    mixed = ((mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK_64;
    mixed = ((mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn) & MASK_64;
    mixed ^= mixed >> 31n;
    state[2 * word] = Number(mixed >> 32n) | 0;
    state[2 * word + 1] = Number(mixed & 0xffffffffn) | 0;
  }
  return state;
}

export class Generator {
  // The halves of the number that `next` drew last, unsigned.
  high = 0;
  low = 0;
  readonly state: Int32Array;

  constructor(seed: number) {
    this.state = splitMix(seed);
  }

  next(): void {
    const s = this.state;
    const h1 = s[2]!;
    const l1 = s[3]!;
    // state[1] * 5, as a sum of the number and the number shifted by two.
    let low = (l1 << 2) >>> 0;
    let high = (h1 << 2) | (l1 >>> 30);
    let sum = low + (l1 >>> 0);
    high = (high + h1 + (sum >= WORD ? 1 : 0)) | 0;
    low = sum | 0;
    // Rotated left by 7.
    const rotatedHigh = (high << 7) | (low >>> 25);
    const rotatedLow = (low << 7) | (high >>> 25);
    // * 9.
    low = (rotatedLow << 3) >>> 0;
    high = (rotatedHigh << 3) | (rotatedLow >>> 29);
    sum = low + (rotatedLow >>> 0);
    this.high = (high + rotatedHigh + (sum >= WORD ? 1 : 0)) >>> 0;
    this.low = sum >>> 0;

    const shiftedHigh = (h1 << 17) | (l1 >>> 15);
    const shiftedLow = l1 << 17;
    const h2 = s[4]! ^ s[0]!;
    const l2 = s[5]! ^ s[1]!;
    const h3 = s[6]! ^ h1;
    const l3 = s[7]! ^ l1;
    s[2] = h1 ^ h2;
    s[3] = l1 ^ l2;
    s[0] = s[0]! ^ h3;
    s[1] = s[1]! ^ l3;
    s[4] = h2 ^ shiftedHigh;
    s[5] = l2 ^ shiftedLow;
    // Rotated left by 45: halves swapped, then by 13.
    s[6] = (l3 << 13) | (h3 >>> 19);
    s[7] = (h3 << 13) | (l3 >>> 19);
  }

  // Each of 0 … count-1 equally often; count from 1 to 2^21.
  below(count: number): number {
    // 2^64 modulo count: the number of lowest values that would bias the result.
    const half = WORD % count;
    const biased = (half * half) % count;
    do this.next();
    while (this.high === 0 && this.low < biased);
    const number = modulo(this.high, count) * WORD + this.low;
    return modulo(number, count);
  }
}

/**
 * As many numbers below `count` as there is room. The same numbers as from `below`; the state is in local variables,
 * which is several times as fast.
 */
export function fillBelow(generator: Generator, numbers: Uint32Array, count: number): void {
  const s = generator.state;
  let [h0, l0, h1, l1, h2, l2, h3, l3] = [s[0]!, s[1]!, s[2]!, s[3]!, s[4]!, s[5]!, s[6]!, s[7]!];
  const half = WORD % count;
  const biased = (half * half) % count;
  const inverse = 1 / count;
  for (let i = 0; i < numbers.length; ) {
    let low = (l1 << 2) >>> 0;
    let sum = low + (l1 >>> 0);
    let high = (((h1 << 2) | (l1 >>> 30)) + h1 + (sum >= WORD ? 1 : 0)) | 0;
    low = sum | 0;
    const rotatedHigh = (high << 7) | (low >>> 25);
    const rotatedLow = (low << 7) | (high >>> 25);
    sum = ((rotatedLow << 3) >>> 0) + (rotatedLow >>> 0);
    high = (((rotatedHigh << 3) | (rotatedLow >>> 29)) + rotatedHigh + (sum >= WORD ? 1 : 0)) >>> 0;
    low = sum >>> 0;

    const shiftedHigh = (h1 << 17) | (l1 >>> 15);
    const shiftedLow = l1 << 17;
    h2 ^= h0;
    l2 ^= l0;
    h3 ^= h1;
    l3 ^= l1;
    h1 ^= h2;
    l1 ^= l2;
    h0 ^= h3;
    l0 ^= l3;
    h2 ^= shiftedHigh;
    l2 ^= shiftedLow;
    const h = h3;
    h3 = (l3 << 13) | (h >>> 19);
    l3 = (h << 13) | (l3 >>> 19);

    if (high === 0 && low < biased) continue;
    let rest = high - Math.floor(high * inverse) * count;
    if (rest < 0) rest += count;
    else if (rest >= count) rest -= count;
    const number = rest * WORD + low;
    rest = number - Math.floor(number * inverse) * count;
    if (rest < 0) rest += count;
    else if (rest >= count) rest -= count;
    numbers[i++] = rest;
  }
  s.set([h0, l0, h1, l1, h2, l2, h3, l3]);
}

// For a whole number under 2^53; faster than % of doubles.
function modulo(number: number, count: number): number {
  const rest = number - Math.floor(number / count) * count;
  if (rest < 0) return rest + count;
  return rest >= count ? rest - count : rest;
}
