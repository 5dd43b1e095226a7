import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Asking, Question } from "../../../src/agent/questions.ts";
import type { MessageRef } from "../../../src/chat/threads.ts";
import { threadId } from "../../../src/chat/threads.ts";
import { listOpenQuestions } from "../../../src/intake/questions/open-questions-list.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { askQuestion, decide, postedField } from "../../../src/queue/session/questions/open-questions.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const minute = 60_000;

/** A channel whose threads ask. @param secret threads that not everybody in the channel may read */
function channel(secret: readonly string[] = []) {
  const redis = server.client();
  const now = Date.now();
  const place = { platform: "memory", workspace: "w", channel: randomUUID().slice(0, 8) };
  const surface = {
    ...memoryChat().surface,
    isOpenThread: async ({ thread }: { thread: string }) => !secret.includes(thread),
    linkTo: async ({ channel: where, message }: MessageRef) => `https://chat.example/${where}/${message}`,
  };
  const asks = async (thread: string, asking: Asking, minutesAgo: number) => {
    const id = threadId({ ...place, thread });
    const askedAt = now - minutesAgo * minute;
    const question: Question = {
      ...asking,
      ...{ id: `q${minutesAgo}`, callId: "c1", tool: "bash", askedAt, expiresAt: now + minute },
      requester: { id: "U1", name: "*Ada*" },
    };
    const lease = await claimSession(redis, id);
    const { fields } = askQuestion(question, { kind: "question", markdown: "May I?" });
    const ref: MessageRef = { ...place, message: `m${minutesAgo}` };
    await lease.append([], { fields: { ...fields, [postedField(question.id)]: JSON.stringify(ref) } });
    await redis.zadd(keys.waiting, question.expiresAt, id);
    return () => decide(redis, id, question.id, { kind: "expired", at: now }, now);
  };
  const list = (thread: string) =>
    listOpenQuestions(
      {
        ...{ redis, surface: () => surface, now: () => now },
        onProblem: (problem) => expect.unreachable(problem),
      },
      { ...place, thread },
    );
  return { asks, list, place };
}

const approval: Asking = { kind: "approval", why: "It leaves." };

test("What waits for a decision in a channel is listed with links, the oldest first, until it is decided", async () => {
  const { asks, list, place } = channel();
  expect(await list("one")).toBeUndefined();
  await asks("one", approval, 0);
  const decided = await asks("two", { kind: "choice", text: "Which\n*blue*?", choices: ["light"] }, 5);
  await channel().asks("elsewhere", approval, 1);
  const own = `- May I run \`bash\`? · \\*Ada\\*, just now · [to the question](https://chat.example/${place.channel}/m0)`;
  expect(await list("one")).toBe(
    [
      "**Waits for a decision**\n",
      `- Which \\*blue\\*? · \\*Ada\\*, 5 min ago, in another thread · [to the question](https://chat.example/${place.channel}/m5)`,
      own,
    ].join("\n"),
  );
  await decided();
  expect(await list("one")).toBe(`**Waits for a decision**\n\n${own}`);
});

test("Nothing is told of questions in threads that not everybody may read, but in these threads themselves", async () => {
  const { asks, list } = channel(["secret"]);
  await asks("secret", approval, 1);
  expect(await list("one")).toBeUndefined();
  expect(await list("secret")).toContain("May I run `bash`?");
});
