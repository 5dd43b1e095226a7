import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { createSlackSurface } from "../../src/adapters/slack/surface/surface.ts";
import type { ChatAdapter } from "../../src/chat/adapter.ts";
import type { Downtime } from "../../src/chat/downtime.ts";
import type { ChatSurface } from "../../src/chat/surface.ts";
import { createDowntime } from "../../src/queue/session/gateway-last-seen.ts";
import type { AuditFact } from "../../src/telemetry/audit/fact.ts";
import { auditObserver } from "../../src/telemetry/audit/observer.ts";
import { adapterFor as discordAdapter, surfaceOf } from "../adapters/discord/connected-adapter.ts";
import { adapterFor as slackAdapter, nobodyWasHere } from "../adapters/slack/connected-adapter.ts";
import { startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { startRedis } from "../fakes/redis.ts";
import { visibleText } from "../fakes/slack/blocks.ts";
import { startFakeSlack } from "../fakes/slack/fake-slack.ts";
import type { FakeEvent } from "../fakes/slack/workspace.ts";
import { openHeddle } from "./heddle.ts";

interface Place {
  surface: ChatSurface;
  access: object;
  adapter(downtime?: Downtime): ChatAdapter;
  /** What was not heard is not told again. */
  forget(): void;
  /** Somebody calls the bot in a channel. */
  calls(who: "ada" | "eve", channel: string, text: string): Promise<unknown>;
  /** Ada uses `/agent` in a channel. */
  commands(channel: string, task: string): unknown;
  /** Ada calls the bot in a channel, and what she does then is told to both replicas, or twice. */
  begins(channel: string, text: string): Promise<{ edits(): Promise<unknown>; stops(): Promise<unknown> }>;
  /** What the bot has said in the threads of a channel. */
  said(channel: string): string[];
  until(condition: () => boolean): Promise<unknown>;
  close(): Promise<void>;
}

/** Gives each event to one connection; a mention comes as two events. */
async function onSlack(): Promise<Place> {
  const slack = await startFakeSlack();
  const log = pino({ level: "silent" });
  const people = { ada: slack.user("ada"), eve: slack.user("eve", { guest: true }) };
  /** An event that was not acknowledged in time is sent again, to any connection. */
  const again = (fits: (event: FakeEvent) => boolean) => {
    const events = slack.deliveries.map(({ payload }) => payload["event"] as FakeEvent); // as `tellAlways` takes them
    const event = events.findLast((one) => fits(one));
    if (event) slack.tellAlways(event);
  };
  return {
    surface: createSlackSurface({ botToken: slack.botToken, apiUrl: slack.url, log }),
    access: {},
    adapter: (downtime = nobodyWasHere) => slackAdapter(slack, downtime),
    forget: () => slack.forget(),
    calls: (who, channel, text) => people[who].says(slack.channel(channel), `<@BOT> ${text}`),
    commands: (channel, task) => people.ada.commands(slack.channel(channel), `/agent ${task}`),
    async begins(channel, text) {
      const message = await people.ada.says(slack.channel(channel), `<@BOT> ${text}`);
      return {
        async edits() {
          await people.ada.edits(message, `<@BOT> ${text}, please`);
          again(({ subtype }) => subtype === "message_changed");
        },
        async stops() {
          await people.ada.reacts("octagonal_sign", message);
          again(({ reaction }) => reaction === "octagonal_sign");
        },
      };
    },
    said: (channel) =>
      slack
        .channel(channel)
        .messages.filter(({ user, threadTs }) => user === slack.bot && threadTs)
        .map((message) => visibleText(message)),
    until: (condition) => slack.until(condition),
    close: () => slack.close(),
  };
}

/** Gives each event to every connection. */
async function onDiscord(): Promise<Place> {
  const discord = await startFakeDiscord();
  const ada = discord.user("ada");
  const eve = discord.user("eve");
  return {
    surface: surfaceOf(discord),
    access: { discord: { users: [ada.id] } },
    adapter: (downtime = nobodyWasHere) => discordAdapter(discord, { downtime }),
    forget() {},
    calls: async (who, channel, text) =>
      (who === "ada" ? ada : eve).says(discord.channel(channel), `<@BOT> ${text}`),
    commands: (channel, prompt) => ada.asks(discord.channel(channel), { prompt }),
    async begins(channel, text) {
      const message = ada.says(discord.channel(channel), `<@BOT> ${text}`);
      return {
        edits: async () => ada.edits(message, `<@BOT> ${text}, please`),
        stops: async () => ada.reacts("🛑", message),
      };
    },
    said(name) {
      const channel = discord.channel(name);
      // A stranger is answered where it was said; what begins a thread says nothing by itself.
      const all = channel.messages.flatMap((message) => discord.threadOf(message)?.messages ?? [message]);
      return all.flatMap(({ author, content }) => (author === discord.bot ? content : []));
    },
    until: (condition) => discord.until(condition),
    close: () => discord.close(),
  };
}

const places = [
  ["app of Slack", onSlack],
  ["shard of Discord", onDiscord],
] as const;

test.each(places)("What is told to two replicas on one %s is in the audit log once", async (_where, open) => {
  const [place, server] = await Promise.all([open(), startRedis()]);
  const facts: AuditFact[] = [];
  const log = { append: async () => undefined, close: async () => undefined };
  const audited = auditObserver({
    log: { ...log, note: async (fact) => void facts.push(fact) },
    mask: (text) => text,
  });
  const replies = () => ({ hang: "Let me see." });
  const { surface, access } = place;
  const heddles = await Promise.all([0, 1].map(() => openHeddle(server, { surface, access, replies })));
  const told: Record<string, number> = {};
  const adapters = heddles.map(() => place.adapter());
  for (const [index, heddle] of heddles.entries()) {
    const intake = audited.intake?.(heddle.intake) ?? heddle.intake;
    await adapters[index]?.start({
      async receive(event) {
        const result = await intake.receive(event);
        told[event.kind] = (told[event.kind] ?? 0) + 1;
        return result;
      },
    });
  }
  onTestFinished(async () => {
    await Promise.all(adapters.map((adapter) => adapter.stop()));
    await Promise.all(heddles.map(({ close }) => close()));
    await Promise.all([place.close(), server.stop()]);
  });

  const task = await place.begins("work", "count");
  await expect.poll(() => heddles.flatMap(({ requests }) => requests).length).toBeGreaterThan(0);
  await task.edits();
  await expect.poll(() => told["edit"]).toBe(2);
  await task.stops();
  await expect.poll(() => told).toEqual({ message: 2, edit: 2, stop: 2 });
  await place.calls("eve", "stranger", "hi");
  await place.calls("eve", "stranger", "hello?");
  await expect.poll(() => told["message"]).toBe(6);
  const whats = facts.map(({ what }) => what);
  expect(whats).toEqual(["asked", "edited", "stopped", "refused", "refused"]);
});

test.each(places)("Of two replicas on one %s each thing is done and said once", async (_where, open) => {
  const [place, server] = await Promise.all([open(), startRedis()]);
  const { surface, access, said } = place;
  const replies = () => ({ text: "Answer." });
  const heddles = await Promise.all([0, 1].map(() => openHeddle(server, { surface, access, replies })));
  const adapters = heddles.map(({ intake }) => ({ intake, adapter: place.adapter() }));
  for (const { adapter, intake } of adapters) await adapter.start(intake);
  onTestFinished(async () => {
    await Promise.all(adapters.map(({ adapter }) => adapter.stop()));
    await Promise.all(heddles.map(({ close }) => close()));
    await Promise.all([place.close(), server.stop()]);
  });

  const expected = {
    work: "Answer.",
    command: "Answer.",
    nothing: "You called me without a task.",
    idle: "Nothing is running in this thread.",
    planned: "Nothing is planned in this thread.",
    stranger: "I only take work from",
  };
  await place.calls("ada", "work", "hi");
  place.commands("command", "hi");
  await place.calls("ada", "nothing", "");
  await place.calls("ada", "idle", "stop");
  await place.calls("ada", "planned", "schedules");
  await place.calls("eve", "stranger", "hi");
  const channels = Object.keys(expected);
  await place.until(() =>
    Object.entries(expected).every(([channel, words]) => said(channel).some((text) => text.includes(words))),
  );
  // What is said in a channel is said in its order.
  for (const channel of channels) await place.calls("ada", channel, "again");
  // On a busy machine a turn shows its progress first.
  await place.until(() =>
    channels.every((channel) => {
      const all = said(channel);
      return (
        all.length > 1 && all.at(-1)?.startsWith("Answer.") && !all.some((text) => text.includes("Working"))
      );
    }),
  );
  for (const [channel, words] of Object.entries(expected)) {
    expect(said(channel)).toEqual([expect.stringContaining(words), expect.stringContaining("Answer.")]);
  }
  expect(heddles.flatMap(({ requests }) => requests)).toHaveLength(channels.length + 2);
});

test.each(places)(
  "A 🛑 that nobody heard of is honoured by the next gateway to an %s",
  async (_where, open) => {
    const [place, server] = await Promise.all([open(), startRedis()]);
    const replies = () => ({ hang: "Let me see." });
    const { surface, access, said } = place;
    const { intake, requests, close } = await openHeddle(server, { surface, access, replies });
    const known = createDowntime(server.client(), Date.now);
    const heard = Promise.withResolvers<void>();
    const present: Downtime["markConnected"] = (...where) =>
      known.markConnected(...where).then(heard.resolve);
    const first = place.adapter({ ...known, markConnected: present });
    await first.start(intake);
    const task = await place.begins("work", "count");
    await heard.promise;
    await expect.poll(() => requests.length).toBeGreaterThan(0);
    await first.stop();

    await task.stops();
    place.forget();
    const second = place.adapter(known);
    await second.start(intake);
    onTestFinished(async () => {
      await second.stop();
      await close();
      await Promise.all([place.close(), server.stop()]);
    });
    await place.until(() => said("work").some((text) => text.includes("Stopped by ada")));
  },
);
