import { expect, test } from "vitest";
import type { InboundEvent, IntakeResult } from "../../src/chat/inbound.ts";
import { requireConfirmation, mostWaiting } from "../../src/intake/require-confirmation.ts";

const place = { platform: "memory", workspace: "w", channel: "c" };
const message: InboundEvent = {
  ...{ kind: "message", thread: { ...place, thread: "1" }, ref: { ...place, message: "1" } },
  ...{ author: { id: "U1", name: "Ada", standing: "member", roles: [] }, text: "hi", attachments: [] },
  ...{ addressed: "mention", at: 1 },
};
const accepted: IntakeResult = { kind: "accepted", thread: "memory:w:c:1", position: 0 };

test("So many events wait for Redis; further ones are rejected at once, until those before are through", async () => {
  const answers: PromiseWithResolvers<IntakeResult>[] = [];
  const intake = requireConfirmation(
    {
      receive() {
        const answer = Promise.withResolvers<IntakeResult>();
        answers.push(answer);
        return answer.promise;
      },
    },
    // Redis is given up for each of them at once: what was sent to it is in memory all the same.
    { confirm: () => Promise.reject(new Error("Redis does not answer.")) },
  );
  const receive = () => intake.receive(message).catch((error: unknown) => String(error));
  const tooMany = expect.stringContaining("Too many events wait for Redis");
  for (let n = 0; n < mostWaiting; n += 1) expect(await receive()).not.toEqual(tooMany);
  expect(await receive()).toEqual(tooMany);
  expect(answers).toHaveLength(mostWaiting);

  answers[0]?.resolve(accepted);
  answers[1]?.reject(new Error("Redis has lost it."));
  await Promise.allSettled([answers[0]?.promise, answers[1]?.promise]);
  expect([await receive(), await receive()]).not.toContainEqual(tooMany);
  expect(await receive()).toEqual(tooMany);
});

test("An event is confirmed only once replicas have what was written for its thread", async () => {
  const replicated: unknown[] = [];
  let result: IntakeResult = accepted;
  let isBehind = false;
  const intake = requireConfirmation(
    { receive: async () => result },
    {
      confirm: (work) => work,
      replicate: async () => async (thread) => {
        replicated.push(thread);
        if (isBehind) throw new Error("No replica has it.");
      },
    },
  );
  const author = { id: "U1", name: "Ada", standing: "member" as const, roles: [] };
  const stop = (target: Extract<InboundEvent, { kind: "stop" }>["target"]): InboundEvent => ({
    ...{ kind: "stop", target, author, at: 1 },
  });
  expect(await intake.receive(message)).toEqual(accepted);
  result = { kind: "duplicate" };
  for (const event of [
    message,
    stop({ thread: { ...place, thread: "2" } }),
    stop({ message: { ...place, message: "3" } }),
  ])
    await intake.receive(event);
  expect(replicated).toEqual(["memory:w:c:1", "memory:w:c:1", "memory:w:c:2", undefined]);
  isBehind = true;
  await expect(intake.receive(message)).rejects.toThrow("No replica has it.");
});
