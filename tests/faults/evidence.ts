import { keys } from "../../src/queue/redis/keys.ts";
import { readJournal } from "../../src/queue/session/journal/journal.ts";
import { visibleText } from "../fakes/slack/blocks.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import type { Evidence } from "./check.ts";
import { botMessages, type TestDeployment } from "./serve.ts";

/** Waits until nothing is to be done in these threads any more. */
export async function quiet(
  { redis }: TestDeployment,
  threads: readonly string[],
  timeoutMs: number,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (const thread of threads) {
    for (;;) {
      const [[created, status], mail, outbox, listed] = await Promise.all([
        redis.client.hmget(keys.head(thread), "created", "status"),
        redis.client.llen(keys.mail(thread)),
        redis.client.hlen(keys.outbox(thread)),
        redis.client.zscore(keys.waiting, thread),
      ]);
      if (created && status !== "running" && mail === 0 && outbox === 0 && listed === null) break;
      if (Date.now() > deadline)
        throw new Error(
          `${thread} is not quiet: ${status}, ${mail} in the mailbox, ${outbox} in the outbox, listed: ${listed}.`,
        );
      // Redis tells no event for this.
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** @param sent the people's messages of the thread, the first one first */
export async function gather(
  deployment: TestDeployment,
  sent: readonly [FakeMessage, ...FakeMessage[]],
): Promise<Evidence> {
  const [root] = sent;
  const { client } = deployment.redis;
  const thread = deployment.threadOf(root);
  const [journal, mail, outbox, status, lines] = await Promise.all([
    readJournal(client, thread),
    client.llen(keys.mail(thread)),
    client.hlen(keys.outbox(thread)),
    client.hget(keys.head(thread), "status"),
    deployment.linesOf(thread),
  ]);
  const { bot } = deployment.slack;
  return {
    sent: sent.map(({ ts }) => ts),
    journal,
    left: { mail, outbox, status: status ?? "" },
    posts: botMessages(deployment.slack, root.channel, root.ts).map(visibleText),
    marks: new Map(
      sent
        .filter((message) => message.channel.messages.includes(message) && message.subtype !== "tombstone")
        .map(({ ts, reactions }) => [
          ts,
          [...reactions].filter(([, users]) => users.has(bot.id)).map(([name]) => name),
        ]),
    ),
    lines,
  };
}

/** For whoever has to find out why: each message of the bot in that thread that still shows work, with all that was done to it. */
export function describeWrites({ slack }: TestDeployment, root: FakeMessage): string {
  return botMessages(slack, root.channel, root.ts)
    .filter((message) => visibleText(message).includes("Working"))
    .map((message) => {
      const { ts, metadata, stream } = message;
      const calls = slack.calls
        .filter(({ args }) => args["ts"] === ts)
        .map(({ method, args }) => ({ method, args }));
      const shown = { ts, metadata, isOpen: stream?.isOpen, text: visibleText(message) };
      return JSON.stringify({ root: root.ts, ...shown, calls });
    })
    .join("\n");
}
