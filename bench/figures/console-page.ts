import type { Browser } from "playwright-core";
import { begin, end, usageOf, write } from "../../tests/adapters/console/sessions.ts";
import { launchChromium, noChromium } from "../../tests/browser/chromium.ts";
import {
  longConversation,
  recordsOf,
  writeMessages,
  writeRecords,
  writeThreads,
} from "../../tests/browser/large-console.ts";
import { createLivePublisher } from "../../src/queue/outbox/live-events.ts";
import { openScene, type Scene } from "../console-scenes.ts";
import { type Effort, type Figure, type Findings, goal, ms } from "../figure.ts";
import { interleave, spread } from "../measure.ts";

/** What a browser has to do about one change, however much there is. */
export const consolePage: Figure = {
  id: "console-page",
  title: "A change in the console's page",
  method:
    "The console with its page in a headless Chromium, one for each size, with changes interleaved. A thread of the list of all threads begins or ends a turn; the timeline of a thread, read at its end, gets a step with one call; a conversation, read at its end, an answer. The time is that of the page's main thread: reading what came, changing the elements, style and layout; painting is not in it.",
  measure,
};

/** Something that grows, and one change of it. */
interface Subject {
  name: string;
  scene: Scene;
  change(): Promise<number>;
}

async function measure(effort: Effort): Promise<Findings> {
  const browser = await launchChromium();
  if (!browser) throw new Error(noChromium);
  await using parts = new AsyncDisposableStack();
  parts.defer(() => browser.close());
  const subjects: Subject[] = [];
  const add = async (opening: Promise<Subject>) => {
    const subject = await opening;
    parts.use(subject.scene);
    subjects.push(subject);
  };
  const [threads, records, messages] = effort.pick([500, 2_000, 500], [5_000, 20_000, 2_000]);
  for (const count of [10, 500, 5_000]) if (count <= threads) await add(openList(browser, count));
  for (const count of [60, records]) await add(openTimeline(browser, count));
  for (const count of [10, messages]) await add(openConversation(browser, count));

  const times = await interleave(
    subjects.map(({ name, change }) => ({ name, run: async () => [await change()] })),
    { rounds: effort.pick(4, 30), warmUp: effort.pick(1, 4) },
  );
  const rows: string[][] = [];
  const medians = new Map<string, number>();
  for (const { name, scene } of subjects) {
    const { count, p50, p95 } = spread(times.get(name) ?? []);
    medians.set(name, p50);
    rows.push([name, String(await scene.countElements()), String(count), ms(p50), ms(p95)]);
  }
  const aim = (name: string) =>
    goal(`one change in the page: ${name}, p50`, medians.get(name) ?? Number.NaN, "ms", { below: 5 });
  return {
    table: { columns: ["", "elements", "measured", "p50", "p95"], rows },
    goals: [aim(listOf(threads)), aim(timelineOf(records)), aim(conversationOf(messages))],
  };
}

const onError = (error: unknown) => {
  throw error;
};
const listOf = (count: number) => `list of ${count.toLocaleString("en")} threads`;
const stepLine = (step: number) => new RegExp(`^Step ${step}$`);
const conversationOf = (count: number) => `conversation of ${count.toLocaleString("en")} messages`;
const timelineOf = (count: number) => `timeline of ${count.toLocaleString("en")} records`;

async function openList(browser: Browser, count: number): Promise<Subject> {
  const scene = await openScene(browser, ({ redis }) => writeThreads(redis.client(), count), {
    at: "/threads",
    shows: new RegExp(`^Task ${count - 1}$`),
  });
  const redis = scene.console.redis.client();
  const thread = `slack:T1:C1:${count - 1}.0`;
  const tell = createLivePublisher(redis, thread, onError);
  let turn = 1;
  let finish: (() => Promise<void>) | undefined;
  const change = async () => {
    if (finish) {
      await finish();
      finish = undefined;
      tell({ type: "turn-end" });
      return;
    }
    const name = `t${(turn += 1)}`;
    await write(redis, thread, "Once more");
    const lease = await begin(redis, thread, name);
    const outcome = { kind: "answered", text: "Done.", steps: 0, usage: usageOf(0.01) } as const;
    finish = () => end(lease, outcome, name);
    tell({ type: "turn-start" });
  };
  const states = (running: number) => new RegExp(` · ${running} running · `);
  return {
    name: listOf(count),
    scene,
    // The only one that runs.
    change: () => scene.measure(change, finish ? states(0) : states(1)),
  };
}

async function openTimeline(browser: Browser, count: number): Promise<Subject> {
  const thread = "slack:T1:C2:1.0";
  let step = Math.floor((count - 3) / 3);
  const scene = await openScene(browser, ({ redis }) => writeRecords(redis.client(), thread, count), {
    at: `/s/${encodeURIComponent(thread)}`,
    shows: stepLine(step),
  });
  const redis = scene.console.redis.client();
  await write(redis, thread, "And now?");
  const lease = await begin(redis, thread, "t2");
  const tell = createLivePublisher(redis, thread, onError);
  const change = async () => {
    await lease.append(recordsOf((step += 1)));
    tell({ type: "turn-start" });
  };
  return {
    name: timelineOf(count),
    scene,
    change: () => scene.measure(change, stepLine(step + 1)),
  };
}

async function openConversation(browser: Browser, count: number): Promise<Subject> {
  const ref = { platform: "local", workspace: "console", channel: "main", thread: longConversation };
  // The oldest make room for what is added.
  const scene = await openScene(browser, ({ redis }) => writeMessages(redis.client(), count), {
    at: `/t/${longConversation}`,
    shows: new RegExp(`^Answer ${count - 1}:`),
  });
  let said = 0;
  const change = async () => {
    said += 1;
    await scene.console.surface.post(ref, { kind: "answer", markdown: `Said ${said}.` }, `said ${said}`);
  };
  return {
    name: conversationOf(count),
    scene,
    change: () => scene.measure(change, new RegExp(`^Said ${said + 1}[.]$`)),
  };
}
