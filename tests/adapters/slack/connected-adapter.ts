import { Writable } from "node:stream";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { createSlackAdapter } from "../../../src/adapters/slack/adapter.ts";
import type { SlackAdapterOptions } from "../../../src/adapters/slack/options.ts";
import type { ChatAdapter } from "../../../src/chat/adapter.ts";
import type { Downtime } from "../../../src/chat/downtime.ts";
import type { DayBudgets, RecentThreads } from "../../../src/chat/home.ts";
import type { InboundEvent, Intake, IntakeResult } from "../../../src/chat/inbound.ts";
import { type FakeSlack, type FakeSlackOptions, startFakeSlack } from "../../fakes/slack/fake-slack.ts";

const log = pino({ level: "silent" });

/** An intake that records its events. */
interface RecordingIntake extends Intake {
  events: InboundEvent[];
  /** What happens to the next event instead. */
  next: ((event: InboundEvent) => Promise<IntakeResult>)[];
}

export function recordingIntake(): RecordingIntake {
  const intake: RecordingIntake = {
    events: [],
    next: [],
    async receive(event) {
      const special = intake.next.shift();
      if (special) return special(event);
      intake.events.push(event);
      return { kind: "duplicate" };
    },
  };
  return intake;
}

/** Both for the home tab. */
export const nothingRecent: RecentThreads = { of: async () => [] };
export const noBudget: DayBudgets = { of: async () => [] };

export const nobodyWasHere: Downtime = {
  lastConnectedAt: async () => undefined,
  markConnected: async () => undefined,
  markListening: async () => undefined,
  markAway: async () => undefined,
  threads: async () => [],
  open: async () => [],
};

export function adapterFor(
  slack: FakeSlack,
  downtime: Downtime,
  recentThreads = nothingRecent,
  dayBudgets = noBudget,
  watched?: string,
): ChatAdapter {
  return createSlackAdapter({
    ...(watched !== undefined && {
      isWatched: (team, channel) => team === slack.teamId && channel === slack.channel(watched).id,
    }),
    teams: { botToken: slack.botToken },
    events: { kind: "socket", appToken: slack.appToken },
    apiUrl: slack.url,
    stopReactions: ["octagonal_sign", "hand"],
    startReactions: ["robot_face"],
    downtime,
    recentThreads,
    dayBudgets,
    mayAsk: (_workspace, { standing }) => standing === "member",
    choices: async () => ({
      models: ["fast"],
      skills: [],
      prompts: [
        {
          ...{ server: "tickets", name: "triage", description: "Sorts what is new" },
          arguments: [
            { name: "project", required: true },
            { name: "since", required: false },
          ],
        },
      ],
    }),
    log,
  });
}

export async function startAdapter(
  options: FakeSlackOptions = {},
  downtime = nobodyWasHere,
  recentThreads = nothingRecent,
  dayBudgets = noBudget,
  watched?: string,
): Promise<{ slack: FakeSlack; intake: RecordingIntake; adapter: ChatAdapter }> {
  const slack = await startFakeSlack(options);
  const intake = recordingIntake();
  const adapter = adapterFor(slack, downtime, recentThreads, dayBudgets, watched);
  await adapter.start(intake);
  onTestFinished(async () => {
    await adapter.stop();
    await slack.close();
  });
  return { slack, intake, adapter };
}

/** Waits until Slack has been told that everything arrived. */
export async function untilAcknowledged(slack: FakeSlack): Promise<void> {
  await slack.until(() => slack.deliveries.every(({ isAcknowledged }) => isAcknowledged));
}

export const signingSecret = "8f742231b10e8888abcd99yyyzzz85a5";

/** Starts an adapter that takes requests; gives the address that it tells in its log. */
export async function startHttpAdapter(
  teams: SlackAdapterOptions["teams"],
  apiUrl: string,
  downtime = nobodyWasHere,
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
  const intake = recordingIntake();
  const adapter = createSlackAdapter({
    teams,
    events: { kind: "http", signingSecret, host: "127.0.0.1", port: 0 },
    apiUrl,
    stopReactions: ["octagonal_sign"],
    startReactions: ["robot_face"],
    downtime,
    recentThreads: nothingRecent,
    dayBudgets: noBudget,
    mayAsk: () => true,
    choices: async () => ({ models: [], skills: [], prompts: [] }),
    log: listened,
  });
  await adapter.start(intake);
  onTestFinished(() => adapter.stop());
  return { intake, adapter, url: await address.promise, logged: () => logged };
}
