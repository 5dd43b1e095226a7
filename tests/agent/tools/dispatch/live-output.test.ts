import { expect, test } from "vitest";
import { createMasker } from "../../../../src/agent/secrets/mask-secrets.ts";
import { createLiveOutput } from "../../../../src/agent/tools/dispatch/live-output.ts";

const secret = "canary-0815-4711";
const line = `${"x".repeat(99)}\n`;

/** What a call prints, in pieces of 50,000 characters; what is shown of it is counted. */
function openOutput() {
  let now = 0;
  let shown = "";
  const live = createLiveOutput(
    createMasker([secret]),
    (chunk) => (shown += chunk),
    () => now,
  );
  return {
    live,
    flood(pieces: number) {
      for (let piece = 0; piece < pieces; piece += 1) live.write(line.repeat(500));
    },
    pass: (ms: number) => (now += ms),
    shown: () => shown,
  };
}

test("Of a flood of output a part is shown while it runs, each second again", () => {
  const { live, flood, pass, shown } = openOutput();
  flood(1_000);
  expect(shown().length).toBeLessThan(200_000);
  const before = shown().length;
  pass(1_000);
  flood(1_000);
  expect(shown().length).toBeLessThan(before + 200_000);
  expect(shown().slice(before)).toMatch(/^\[…\]\nx{99}\n/);
  pass(1_000);
  live.write("the rest of a line\nthe last line\n");
  live.end();
  expect(shown()).toMatch(/x\n\[…\]\nthe last line\n$/);
});

test("No part of a secret is shown whose other part is left out", () => {
  const { live, flood, pass, shown } = openOutput();
  flood(2);
  live.write(`${"y".repeat(50_000)} ${secret.slice(0, 9)}`);
  live.write(secret.slice(9));
  pass(1_000);
  live.write(`${secret.slice(9)}\nafter that\n`);
  live.end();
  expect(shown()).toMatch(/y \[…\]\nafter that\n$/);
});

test("All is shown of output that comes as people read it", () => {
  const { live, pass, shown } = openOutput();
  for (let count = 0; count < 5_000; count += 1) {
    live.write(line);
    pass(1);
  }
  live.end();
  expect(shown()).toBe(line.repeat(5_000));
});
