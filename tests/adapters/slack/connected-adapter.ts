import { Writable } from "node:stream";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import type { Attendance } from "../../../src/chat/downtime.ts";
import type { DayBudgets, RecentThreads } from "../../../src/chat/home.ts";
import type { ChatAdapter } from "../../../src/chat/adapter.ts";
import type { Door, InboundEvent, Verdict } from "../../../src/chat/inbound.ts";
import { createSlackAdapter } from "../../../src/adapters/slack/adapter.ts";
import type { SlackAdapterOptions } from "../../../src/adapters/slack/options.ts";
import { type FakeSlack, type FakeSlackOptions, startFakeSlack } from "../../fakes/slack/fake-slack.ts";

const log = pino({ level: "silent" });

/** A door that writes down who comes in. */
interface RecordingDoor extends Door {
  events: InboundEvent[];
  /** What happens to the next event instead. */
  next: ((event: InboundEvent) => Promise<Verdict>)[];
}

export function recordingDoor(): RecordingDoor {
  const door: RecordingDoor = {
    events: [],
    next: [],
    async receive(event) {
      const special = door.next.shift();
      if (special) return special(event);
      door.events.push(event);
      return { kind: "duplicate" };
    },
  };
  return door;
}

/** Both for the home tab. */
const nothingRecent: RecentThreads = { of: async () => [] };
const noBudget: DayBudgets = { of: async () => [] };

export const nobodyWasHere: Attendance = {
  missedSince: async () => undefined,
  present: async () => undefined,
  threads: async () => [],
  open: async () => [],
};

export function adapterFor(
  slack: FakeSlack,
  attendance: Attendance,
  recentThreads = nothingRecent,
  dayBudgets = noBudget,
): ChatAdapter {
  return createSlackAdapter({
    workspaces: { botToken: slack.botToken },
    events: { kind: "socket", appToken: slack.appToken },
    apiUrl: slack.url,
    stopReactions: ["octagonal_sign", "hand"],
    attendance,
    recentThreads,
    dayBudgets,
    mayAsk: (_workspace, { standing }) => standing === "member",
    log,
  });
}

export async function connected(
  options: FakeSlackOptions = {},
  attendance = nobodyWasHere,
  recentThreads = nothingRecent,
  dayBudgets = noBudget,
): Promise<{ slack: FakeSlack; door: RecordingDoor; adapter: ChatAdapter }> {
  const slack = await startFakeSlack(options);
  const door = recordingDoor();
  const adapter = adapterFor(slack, attendance, recentThreads, dayBudgets);
  await adapter.start(door);
  onTestFinished(async () => {
    await adapter.stop();
    await slack.close();
  });
  return { slack, door, adapter };
}

/** Waits until Slack has been told that everything arrived. */
export async function settled(slack: FakeSlack): Promise<void> {
  await slack.until(() => slack.deliveries.every(({ isAcknowledged }) => isAcknowledged));
}

export const signingSecret = "8f742231b10e8888abcd99yyyzzz85a5";

/** Starts an adapter that takes requests; gives the address that it tells in its log. */
export async function listening(
  workspaces: SlackAdapterOptions["workspaces"],
  apiUrl: string,
  attendance = nobodyWasHere,
) {
  const address = Promise.withResolvers<string>();
  let logged = "";
  const listened = pino(
    new Writable({
      write(chunk, _encoding, done) {
        logged += String(chunk);
        const found = /http:\/\/127\.0\.0\.1:\d+\/slack\/events/.exec(String(chunk));
        if (found) address.resolve(found[0]);
        done();
      },
    }),
  );
  const door = recordingDoor();
  const adapter = createSlackAdapter({
    workspaces,
    events: { kind: "http", signingSecret, host: "127.0.0.1", port: 0 },
    apiUrl,
    stopReactions: ["octagonal_sign"],
    attendance,
    recentThreads: nothingRecent,
    dayBudgets: noBudget,
    mayAsk: () => true,
    log: listened,
  });
  await adapter.start(door);
  onTestFinished(() => adapter.stop());
  return { door, adapter, url: await address.promise, logged: () => logged };
}
