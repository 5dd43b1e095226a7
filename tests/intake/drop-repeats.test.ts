import { expect, test } from "vitest";
import type { InboundEvent, IntakeResult } from "../../src/chat/inbound.ts";
import { dropRepeats } from "../../src/intake/drop-repeats.ts";

const place = { platform: "memory", workspace: "w", channel: "c" };
const message = (id: string, addressed: "mention" | "follow-up" = "mention"): InboundEvent => ({
  ...{ kind: "message", thread: { ...place, thread: "1" }, ref: { ...place, message: id } },
  ...{ author: { id: "U1", name: "Ada", standing: "member", roles: [] }, text: "hi", attachments: [] },
  ...{ addressed, at: 1 },
});

/** An intake that answers when it is told to. */
function slowIntake() {
  const heard: { event: InboundEvent; answer: PromiseWithResolvers<IntakeResult> }[] = [];
  const intake = dropRepeats({
    receive(event) {
      const answer = Promise.withResolvers<IntakeResult>();
      heard.push({ event, answer });
      return answer.promise;
    },
  });
  return { intake, heard };
}

const accepted: IntakeResult = { kind: "accepted", thread: "memory:w:c:1", position: 0 };

test("A message that a platform tells twice at once is handed on once, and answered when it is stored", async () => {
  const { intake, heard } = slowIntake();
  const results = Promise.all([intake.receive(message("1")), intake.receive(message("1"))]);
  heard[0]?.answer.resolve(accepted);
  expect(await results).toEqual([accepted, { kind: "duplicate" }]);
  expect(await intake.receive(message("1"))).toEqual({ kind: "duplicate" });
  expect(heard).toHaveLength(1);
});

test("A follow-up in a thread without a session does not keep the mention out that tells the same message", async () => {
  const { intake, heard } = slowIntake();
  const results = Promise.all([intake.receive(message("1", "follow-up")), intake.receive(message("1"))]);
  heard[0]?.answer.resolve({ kind: "ignored", why: "no session in that thread" });
  await expect.poll(() => heard.length).toBe(2);
  heard[1]?.answer.resolve(accepted);
  expect(await results).toMatchObject([{ kind: "ignored" }, accepted]);
});

test("A message that could not be stored is tried again when it is told again", async () => {
  const { intake, heard } = slowIntake();
  const first = intake.receive(message("1"));
  heard[0]?.answer.reject(new Error("Redis is away"));
  await expect(first).rejects.toThrow("Redis is away");
  const second = intake.receive(message("1"));
  await expect.poll(() => heard.length).toBe(2);
  heard[1]?.answer.resolve(accepted);
  expect(await second).toEqual(accepted);
});

test("A message that is told again much later is left to Redis, which may have lost it", async () => {
  let time = 0;
  const heard: InboundEvent[] = [];
  const intake = dropRepeats(
    {
      async receive(event) {
        heard.push(event);
        return accepted;
      },
    },
    () => time,
  );
  await intake.receive(message("1"));
  time = 9_999;
  expect(await intake.receive(message("1"))).toEqual({ kind: "duplicate" });
  time = 10_000;
  expect(await intake.receive(message("1"))).toEqual(accepted);
  expect(heard).toHaveLength(2);
});

test("Of a thousand and one messages the one that was handed on the longest ago is left to Redis", async () => {
  const heard: string[] = [];
  let time = 0;
  const intake = dropRepeats(
    {
      async receive(event) {
        if (event.kind === "message") heard.push(event.ref.message);
        return accepted;
      },
    },
    () => time,
  );
  for (let number = 1; number <= 1_000; number += 1) await intake.receive(message(String(number)));
  time = 20_000;
  // Handed on once more, as it was told so much later, and so the newest.
  await intake.receive(message("1"));
  time = 5_000;
  await intake.receive(message("1001"));
  heard.length = 0;
  for (const id of ["3", "1", "2"]) await intake.receive(message(id));
  expect(heard).toEqual(["2"]);
});
