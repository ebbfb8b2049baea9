// Bytes of a file: base64, zlib streams that inflate to their stated length at most, SHA-256.

type WithBase64 = typeof Uint8Array & { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as WithBase64).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Inflates a zlib stream to exactly `rawBytes` bytes. More or fewer is an error; memory stays bounded by `rawBytes`. */
export async function inflate(stored: Uint8Array<ArrayBuffer>, rawBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const out = new Uint8Array(rawBytes);
  const stream = new Blob([stored]).stream().pipeThrough(new DecompressionStream("deflate"));
  const reader = stream.getReader();
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (at + value.length > rawBytes) {
      await reader.cancel().catch(() => undefined);
      throw new Error(`the data inflates to more than its stated ${rawBytes} bytes`);
    }
    out.set(value, at);
    at += value.length;
  }
  if (at !== rawBytes) throw new Error(`the data inflates to ${at} bytes, not to its stated ${rawBytes}`);
  return out;
}

const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** SHA-256 in hexadecimal. crypto.subtle exists in secure contexts alone, so there is an implementation beside it. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (globalThis.crypto?.subtle) return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  return sha256Here(bytes);
}

/** The first 32 bits of the fractional parts of the roots (square: `power` 1/2, cube: 1/3) of the first `count` primes. */
function fractions(count: number, power: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false;
    if (prime) found.push(((n ** power % 1) * 2 ** 32) | 0);
  }
  return found;
}

export function sha256Here(bytes: Uint8Array): string {
  const constants = fractions(64, 1 / 3);
  const state = fractions(8, 1 / 2);
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, (bytes.length << 3) >>> 0);
  const words = new Int32Array(64);
  const turn = (x: number, n: number) => (x >>> n) | (x << (32 - n));
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const x = words[i - 15]!;
      const y = words[i - 2]!;
      const s0 = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3);
      const s1 = turn(y, 17) ^ turn(y, 19) ^ (y >>> 10);
      words[i] = (words[i - 16]! + s0 + words[i - 7]! + s1) | 0;
    }
    let [a, b, c, d, e, f, g, h] = state as [number, number, number, number, number, number, number, number];
    for (let i = 0; i < 64; i++) {
      const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
      const one = (h + s1 + ((e & f) ^ (~e & g)) + constants[i]! + words[i]!) | 0;
      const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
      const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => (state[i] = (state[i]! + value) | 0));
  }
  return state.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}
