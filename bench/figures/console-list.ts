import { write } from "../../tests/adapters/console/sessions.ts";
import { startRedis } from "../../tests/fakes/redis.ts";
import { watchCommands } from "../../tests/fakes/redis-commands.ts";
import { createThreadIndex } from "../../src/operations/threads/threads.ts";
import { createLiveFeed } from "../../src/queue/outbox/live-events.ts";
import { channels } from "../../src/queue/redis/keys.ts";
import { type Effort, type Figure, type Findings, goal, ms } from "../figure.ts";
import { spread, timed } from "../measure.ts";

/** What a list of threads asks of Redis, however many of them wait. */
export const consoleList: Figure = {
  id: "console-list",
  title: "The console's list of threads",
  method:
    "A page of 60 of all threads, of which all wait for a worker, with what they are together. Commands as MONITOR shows them, in lists of their own. The first list of a process reads every thread; later ones read what has changed, what the page shows and 50 others.",
  measure,
};

const shown = 60;

async function measure(effort: Effort): Promise<Findings> {
  const counts = effort.pick([100, 1_000], [100, 1_000, 5_000]);
  const rows: string[][] = [];
  let most = 0;
  for (const count of counts) {
    const { first, later, commands } = await measureList(count, effort.pick(3, 20));
    most = commands;
    rows.push([count.toLocaleString("en"), ms(first), ms(later.p50), ms(later.p95), String(commands)]);
  }
  const largest = counts.at(-1)?.toLocaleString("en");
  return {
    table: { columns: ["threads that wait", "first list", "later, p50", "p95", "commands"], rows },
    goals: [
      goal(`Redis commands of a list of ${shown} among ${largest} waiting threads`, most, "", {
        atMost: 700,
      }),
    ],
  };
}

async function measureList(count: number, rounds: number) {
  const server = await startRedis();
  const redis = server.client();
  for (let from = 0; from < count; from += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, n) => write(redis, `slack:T1:C1:${from + n}.0`, `Task ${from + n}`)),
    );
  const feed = createLiveFeed(server.client(), (error) => {
    throw error;
  });
  // What was missed before it holds makes it read all threads again.
  const isFollowing = new Promise<void>((resolve) => feed.follow(channels.sessions, () => resolve()));
  const threads = createThreadIndex({ redis, feed, mask: (text) => text });
  try {
    await isFollowing;
    const list = () => threads.query({ limit: shown });
    const first = await timed(list);
    await list();
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) times.push(await timed(list));
    const watch = await watchCommands(server);
    let commands = 0;
    for (let round = 0; round < rounds; round += 1) {
      await list();
      commands = Math.max(commands, (await watch.take()).length);
    }
    watch.close();
    return { first, later: spread(times), commands };
  } finally {
    threads.close();
    feed.close();
    await server.stop();
  }
}
