import { expect, test } from "vitest";
import { createRunningClones } from "../../src/sandbox/mirrors/running-clones.ts";

const forever = 1_000_000;
const { signal } = new AbortController();
const isDone = (promise: Promise<void>) =>
  Promise.race([promise.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);

test("what is made for later waits until no thread clones, however many do", async () => {
  const { begin, quiet } = createRunningClones(forever);
  expect(await isDone(quiet(signal))).toBe(true);
  const [one, two] = [begin(), begin()];
  const waiting = [quiet(signal), quiet(signal)];
  one();
  const three = begin();
  two();
  expect(await isDone(Promise.race(waiting))).toBe(false);
  three();
  await Promise.all(waiting);
  expect(await isDone(quiet(signal))).toBe(true);
});

test("and not for ever, nor when it is to end", async () => {
  const impatient = createRunningClones(1);
  impatient.begin();
  await impatient.quiet(signal);

  const { begin, quiet } = createRunningClones(forever);
  begin();
  const closing = new AbortController();
  const waiting = quiet(closing.signal);
  closing.abort();
  await waiting;
  await quiet(closing.signal);
});
