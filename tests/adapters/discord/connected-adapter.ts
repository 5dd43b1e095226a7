import { pino } from "pino";
import { onTestFinished } from "vitest";
import { createDiscordAdapter, type DiscordAdapterOptions } from "../../../src/adapters/discord/adapter.ts";
import {
  createDiscordSurface,
  type DiscordSurfaceOptions,
} from "../../../src/adapters/discord/surface/surface.ts";
import type { ChatAdapter } from "../../../src/chat/adapter.ts";
import type { Downtime } from "../../../src/chat/downtime.ts";
import type { InboundEvent, Intake, IntakeResult } from "../../../src/chat/inbound.ts";
import type { ChatSurface } from "../../../src/chat/surface.ts";
import {
  type FakeDiscord,
  type FakeDiscordOptions,
  startFakeDiscord,
} from "../../fakes/discord/fake-discord.ts";

const log = pino({ level: "silent" });

/** An intake that records its events. */
export interface RecordingIntake extends Intake {
  events: InboundEvent[];
  /** What happens to the next event instead. */
  next: ((event: InboundEvent) => Promise<IntakeResult>)[];
  /** Resolves with the first events when there are so many. */
  first(count: number): Promise<InboundEvent[]>;
}

export function recordingIntake(): RecordingIntake {
  const waiting = new Set<() => void>();
  const intake: RecordingIntake = {
    events: [],
    next: [],
    async receive(event) {
      const special = intake.next.shift();
      if (special) return special(event);
      intake.events.push(event);
      for (const check of waiting) check();
      return { kind: "acted", thread: "discord:1:2:3" };
    },
    first: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (intake.events.length < count) return;
          waiting.delete(check);
          resolve(intake.events.slice(0, count));
        };
        waiting.add(check);
        check();
      }),
  };
  return intake;
}

export const nobodyWasHere: Downtime = {
  lastConnectedAt: async () => undefined,
  markConnected: async () => undefined,
  markListening: async () => undefined,
  markAway: async () => undefined,
  threads: async () => [],
  open: async () => [],
};

export function adapterFor(discord: FakeDiscord, options: Partial<DiscordAdapterOptions> = {}): ChatAdapter {
  return createDiscordAdapter({
    token: discord.token,
    apiUrl: discord.url,
    messageContent: true,
    stopReactions: ["🛑", "⏹️", "halt"],
    downtime: nobodyWasHere,
    mayAsk: () => true,
    choices: async () => ({
      models: ["anthropic/a", "openai/b"],
      skills: ["csv-report", "changelog"],
      prompts: [
        {
          server: "tickets",
          name: "triage",
          description: "Sorts what is new",
          arguments: [
            { name: "project", required: true },
            { name: "since", required: false },
          ],
        },
      ],
    }),
    log,
    ...options,
  });
}

export async function fakeDiscord(options: FakeDiscordOptions = {}): Promise<FakeDiscord> {
  const discord = await startFakeDiscord(options);
  onTestFinished(() => discord.close());
  return discord;
}

/** An adapter that is connected, with what comes out of it. */
export async function startAdapter(discord: FakeDiscord, options: Partial<DiscordAdapterOptions> = {}) {
  const intake = recordingIntake();
  const adapter = adapterFor(discord, options);
  await adapter.start(intake);
  onTestFinished(() => adapter.stop());
  return { adapter, intake };
}

export function surfaceOf(
  discord: FakeDiscord,
  options: Partial<Pick<DiscordSurfaceOptions, "messageContent" | "marks" | "requests" | "forumTags">> = {},
): ChatSurface {
  const { token, url: apiUrl, cdnUrl } = discord;
  return createDiscordSurface({ token, apiUrl, cdnUrl, messageContent: true, log, ...options });
}
