import { Writable } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";

afterEach(() => vi.unstubAllEnvs());

import { progressBar, showSeconds } from "./progress.ts";

function stream(isTTY: boolean) {
  let text = "";
  const writable = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return {
    stream: Object.assign(writable, { isTTY, columns: 80 }) as unknown as NodeJS.WriteStream,
    text: () => text,
  };
}

test("on a terminal: a bar with the time left, redrawn in place, wiped before a line", () => {
  vi.stubEnv("TERM", "xterm"); // a dumb terminal gets plain lines
  let now = 0;
  const { stream: out, text } = stream(true);
  const bar = progressBar(out, "building", 4, { now: () => now });
  now = 2000;
  bar.tick(1, "a.jsonl");
  expect(text()).toBe(`\r\u001b[2Kbuilding ${"█".repeat(6)}${"░".repeat(18)} 1/4 · 6.0s left · a.jsonl`);
  bar.clear();
  expect(text().endsWith("\r\u001b[2K")).toBe(true);
  bar.tick(3);
  bar.done();
  expect(text().endsWith(`${"█".repeat(24)} 4/4 · in 2.0s · a.jsonl\n`)).toBe(true);
});

test("elsewhere: plain lines, one every ten seconds and one at the end", () => {
  let now = 0;
  const { stream: out, text } = stream(false);
  const bar = progressBar(out, "reading", undefined, { now: () => now });
  for (now = 0; now < 25_000; now += 1000) bar.tick();
  bar.done();
  expect(text()).toBe("reading 11 · in 10.0s\nreading 21 · in 20.0s\nreading 25 · in 25.0s\n");
});

test.each([
  [0, "0.0s"],
  [59.94, "59.9s"],
  [59.96, "1m00s"],
  [185, "3m05s"],
  [3720, "1h02m"],
])("%d seconds read %s", (seconds, text) => {
  expect(showSeconds(seconds)).toBe(text);
});
