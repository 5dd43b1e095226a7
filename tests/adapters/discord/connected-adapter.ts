import { pino } from "pino";
import { onTestFinished } from "vitest";
import type { Attendance } from "../../../src/chat/downtime.ts";
import type { ChatAdapter } from "../../../src/chat/adapter.ts";
import type { ChatSurface } from "../../../src/chat/surface.ts";
import type { Door, InboundEvent, Verdict } from "../../../src/chat/inbound.ts";
import { createDiscordAdapter, type DiscordAdapterOptions } from "../../../src/adapters/discord/adapter.ts";
import {
  createDiscordSurface,
  type DiscordSurfaceOptions,
} from "../../../src/adapters/discord/surface/surface.ts";
import {
  type FakeDiscord,
  type FakeDiscordOptions,
  startFakeDiscord,
} from "../../fakes/discord/fake-discord.ts";

const log = pino({ level: "silent" });

/** A door that writes down who comes in. */
export interface RecordingDoor extends Door {
  events: InboundEvent[];
  /** What happens to the next event instead. */
  next: ((event: InboundEvent) => Promise<Verdict>)[];
  /** Resolves with the first events when there are so many. */
  first(count: number): Promise<InboundEvent[]>;
}

export function recordingDoor(): RecordingDoor {
  const waiting = new Set<() => void>();
  const door: RecordingDoor = {
    events: [],
    next: [],
    async receive(event) {
      const special = door.next.shift();
      if (special) return special(event);
      door.events.push(event);
      for (const check of waiting) check();
      return { kind: "acted", thread: "discord:1:2:3" };
    },
    first: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (door.events.length < count) return;
          waiting.delete(check);
          resolve(door.events.slice(0, count));
        };
        waiting.add(check);
        check();
      }),
  };
  return door;
}

export const nobodyWasHere: Attendance = {
  missedSince: async () => undefined,
  present: async () => undefined,
  threads: async () => [],
  open: async () => [],
};

export function adapterFor(discord: FakeDiscord, options: Partial<DiscordAdapterOptions> = {}): ChatAdapter {
  return createDiscordAdapter({
    token: discord.token,
    apiUrl: discord.url,
    messageContent: true,
    stopReactions: ["🛑", "⏹️", "halt"],
    attendance: nobodyWasHere,
    mayAsk: () => true,
    choices: async () => ({ models: ["anthropic/a", "openai/b"], skills: ["csv-report", "changelog"] }),
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
export async function listening(discord: FakeDiscord, options: Partial<DiscordAdapterOptions> = {}) {
  const door = recordingDoor();
  const adapter = adapterFor(discord, options);
  await adapter.start(door);
  onTestFinished(() => adapter.stop());
  return { adapter, door };
}

export function surfaceOf(
  discord: FakeDiscord,
  options: Partial<Pick<DiscordSurfaceOptions, "messageContent" | "marks">> = {},
): ChatSurface {
  const { token, url: apiUrl, cdnUrl } = discord;
  return createDiscordSurface({ token, apiUrl, cdnUrl, messageContent: true, log, ...options });
}
