import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { AgentEvent } from "../../src/agent/events.ts";
import { showBehind } from "../../src/progress/show-behind.ts";
import type { TurnDisplay } from "../../src/queue/turns/contracts.ts";
import { noDisplay } from "../telemetry/no-display.ts";

const say = (delta: string): AgentEvent => ({ type: "text-delta", step: 1, delta });

/** A display that notes what it is asked, in its order. */
function noteAsked() {
  const asked: string[] = [];
  const problems: unknown[] = [];
  const inner: TurnDisplay = {
    ...noDisplay,
    event(event) {
      const said = event.type === "text-delta" ? event.delta : event.type;
      asked.push(said);
      if (said === "bad") throw new Error("It cannot be rendered.");
    },
    took: () => asked.push("took"),
    waiting: () => ({ [`waiting after ${asked.length}`]: { do: "settle", message: null, since: 0 } }),
  };
  return { asked, problems, display: showBehind(inner, (error) => problems.push(error)) };
}

test("An event is shown when the loop waits for something, not before", async () => {
  const { asked, display } = noteAsked();
  display.event(say("one"));
  await Promise.resolve();
  display.event(say("two"));
  expect(asked).toEqual([]);
  await setImmediate();
  expect(asked).toEqual(["one", "two"]);
});

test("Whatever else a display is asked comes after the events before it, and only once", async () => {
  const { asked, display } = noteAsked();
  display.event(say("one"));
  display.took([]);
  display.event(say("two"));
  expect(Object.keys(display.waiting())).toEqual(["waiting after 3"]);
  await setImmediate();
  expect(asked).toEqual(["one", "took", "two"]);
});

test("An event that cannot be shown is reported, and the others are shown", async () => {
  const { asked, problems, display } = noteAsked();
  for (const said of ["one", "bad", "two"]) display.event(say(said));
  await setImmediate();
  expect(asked).toEqual(["one", "bad", "two"]);
  expect(problems).toEqual([new Error("It cannot be rendered.")]);
});
