import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { fromBase64, inflate, sha256, sha256Here } from "../src/inflate";

const bytes = (of: Buffer) => new Uint8Array(of);

test("a stream inflates to its stated length", async () => {
  const raw = randomBytes(100_000);
  assert.deepEqual(Buffer.from(await inflate(bytes(deflateSync(raw)), raw.length)), raw);
});

test("a stream that is longer than stated is refused before it is whole", async () => {
  const bomb = bytes(deflateSync(Buffer.alloc(64 << 20)));
  const before = process.memoryUsage().arrayBuffers;
  await assert.rejects(inflate(bomb, 1000), /more than its stated 1000 bytes/);
  assert.ok(process.memoryUsage().arrayBuffers - before < 16 << 20);
});

test("a stream that is shorter, cut or no stream is refused", async () => {
  const stored = bytes(deflateSync(Buffer.from("short")));
  await assert.rejects(inflate(stored, 6), /not to its stated 6/);
  await assert.rejects(inflate(stored.slice(0, 6), 5));
  await assert.rejects(inflate(bytes(Buffer.from("no zlib stream")), 5));
});

test("SHA-256 without crypto.subtle is SHA-256", async () => {
  for (const length of [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 1000, 70_001]) {
    const raw = randomBytes(length);
    const expected = createHash("sha256").update(raw).digest("hex");
    assert.equal(sha256Here(bytes(raw)), expected, `${length} bytes`);
    assert.equal(await sha256(bytes(raw)), expected);
  }
});

test("base64 is read with and without the browser's own function", () => {
  const raw = randomBytes(1001);
  assert.deepEqual(Buffer.from(fromBase64(raw.toString("base64"))), raw);
  assert.throws(() => fromBase64("\u0001\u0002"));
});
