import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchContact } from "../../../src/queue/turns/contact.ts";

let now = 0;

beforeEach(() => {
  now = 0;
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

/** Lets so much time go by. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 50) {
    now += 50;
    await vi.advanceTimersByTimeAsync(50);
  }
}

test("The contact is steady while Redis answers, not in an outage, and for a moment after it not yet", async () => {
  let held: PromiseWithResolvers<"PONG"> | undefined;
  const contact = watchContact({ ping: () => held?.promise ?? Promise.resolve("PONG") }, 1_500, () => now);
  const steady: boolean[] = [contact.isSteady()];
  await pass(10_000);
  steady.push(contact.isSteady());

  held = Promise.withResolvers<"PONG">();
  await pass(1_000);
  // It may be late.
  steady.push(contact.isSteady());
  await pass(1_500);
  steady.push(contact.isSteady());
  await pass(20_000);
  held.resolve("PONG");
  held = undefined;
  await pass(100);
  steady.push(contact.isSteady());
  await pass(6_000);
  steady.push(contact.isSteady());
  contact.close();
  expect(steady).toEqual([true, true, true, false, false, true]);
  expect(vi.getTimerCount()).toBe(0);
});
