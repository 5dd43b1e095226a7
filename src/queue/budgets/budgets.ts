import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { OpenTurn } from "../../agent/journal/history.ts";
import { isFromPerson } from "../../agent/messages.ts";
import type { Usage } from "../../agent/model.ts";
import type { BudgetExhausted, Estimate, TurnBudget } from "../../agent/contracts/turn-budget.ts";
import { mayKeepSilent } from "../../agent/silence.ts";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import { daySeconds, keys } from "../redis/keys.ts";
import { loadScript } from "../redis/script.ts";
import { formatAmount, formatDay, nameWatch, subjects, toMicroDollars } from "./usage.ts";

const reserveScript = loadScript(new URL("scripts/reserve.lua", import.meta.url));
const chargeScript = loadScript(new URL("scripts/charge.lua", import.meta.url));

/** What may be used in one day. Absent: without limit. */
export interface DayBudget {
  /** US dollars. */
  cost?: number;
  /** Input and output, caches included. */
  tokens?: number;
}

export interface BudgetSettings {
  /** Whose midnight begins a day (IANA name). */
  timeZone: string;
  keepDays: number;
  /** Percent of a budget that an extension adds to it for the day. */
  extensionPercent: number;
  /** Of all threads together. */
  day: DayBudget;
  /** Of each person, and of some by `platform:workspace:user`. */
  user: DayBudget;
  users: Record<string, DayBudget>;
  /** Of each channel, and of some by `platform:workspace:channel`. */
  channel: DayBudget;
  channels: Record<string, DayBudget>;
}

/** What the turns of a trigger may use in a day, each trigger for itself. */
type TriggerBudgets = Pick<ReadonlyMap<string, DayBudget>, "get">;

export interface BudgetOptions {
  redis: Redis;
  settings: BudgetSettings;
  /** Of triggers and watched channels that have a budget of their own, by name (`nameWatch`). */
  triggers?: TriggerBudgets;
  now(): number;
  /**
   * A budget has come near its end: to be told in the thread whose turn brought it there. Once a budget and day.
   *
   * @param thread undefined where nobody has asked for the turn, so that nobody there must read of it
   */
  warn(thread: ThreadId | undefined, warning: { key: string; markdown: string }): void;
  onError(error: unknown): void;
  /** When a reservation that nobody keeps alive lapses, ms. Default a minute. */
  lapseMs?: number;
}

/** The day's budgets of people, channels and everybody together, kept by all workers. */
export interface Budgets {
  /** Of a turn: the person whose message began it pays, its trigger, the channel, and everybody together. */
  turnBudget(thread: ThreadId, turn: OpenTurn | undefined): TurnBudget;
  /** Whether this budget, used up at some time, is still that of today. */
  isOfToday(budget: string): boolean;
  /** Extends it for today, once for each turn that it has ended. @returns the person whose budget it is, if any */
  extend(budget: string, turn: string): Promise<string | undefined>;
}

/** Whether that budget is the one that everybody shares, in all workspaces. */
export function isOfEverybody(budget: string): boolean {
  return budget.endsWith(` ${subjects.all}`);
}

const warnPercent = 80;
const extendedSeconds = 172_800;

const told = z.tuple([z.int(), z.enum(["cost", "tokens"]), z.coerce.number()]);

type Measure = z.infer<typeof told>[1];

/** See the header of reserve.lua: behind the word, three values for each budget that it tells of. */
const reserveReply = z.tuple([z.enum(["held", "refused"])], z.union([z.int(), z.string()]));

/** A budget that a turn uses. */
interface Concerned {
  subject: string;
  budget: DayBudget;
  /** In words. */
  whom: string;
}

export function createBudgets(options: BudgetOptions): Budgets {
  const { redis, settings } = options;
  const today = () => formatDay(settings.timeZone, options.now());
  return {
    turnBudget(thread, turn) {
      const concerned = listConcerned(options, thread, turn);
      const isUnasked = turn !== undefined && mayKeepSilent(turn.asked);
      let isNew = turn === undefined || turn.usage.calls === 0;
      return {
        async reserve(estimate) {
          const day = today();
          const held = await holdReservation(options, { thread, isUnasked, day, concerned, estimate });
          if ("usedUp" in held) return { ok: false, usedUp: held.usedUp };
          return {
            ok: true,
            async settle(usage, model) {
              held.stop();
              const turns = isNew ? 1 : 0;
              isNew = false;
              await charge(options, { id: held.id, day, concerned }, listFigures(usage, turns), model);
            },
          };
        },
      };
    },

    isOfToday: (budget) => budget.startsWith(`${today()} `),

    async extend(budget, turn) {
      const [day = "", ...rest] = budget.split(" ");
      const subject = rest.join(" ");
      const key = keys.extended(day, subject);
      await redis.multi().sadd(key, turn).expire(key, extendedSeconds).exec();
      return subjects.userIn(subject);
    },
  };
}

/**
 * Whose budgets the turn uses: of everybody, of its channel, of its trigger, and of the person who pays for it. What was
 * not said to the agent costs nobody's own.
 */
function listConcerned(
  { settings, triggers }: Pick<BudgetOptions, "settings" | "triggers">,
  thread: ThreadId,
  turn: OpenTurn | undefined,
): Concerned[] {
  const { platform, workspace, channel } = parseThreadId(thread);
  const place = `${platform}:${workspace}`;
  const first = turn?.asked.find(isFromPerson);
  const asker = turn?.asked.find((message) => isFromPerson(message) && !message.unaddressed);
  const payer = asker?.paidBy ?? asker?.author.id;
  const concerned = [
    { subject: subjects.all, budget: settings.day, whom: "everybody together" },
    {
      subject: subjects.channel(`${place}:${channel}`),
      budget: settings.channels[`${place}:${channel}`] ?? settings.channel,
      whom: "this channel",
    },
  ];
  if (first?.trigger !== undefined)
    concerned.push({
      subject: subjects.trigger(first.trigger),
      budget: triggers?.get(first.trigger) ?? {},
      whom: first.trigger.startsWith(nameWatch("")) ? "what is heard here" : `the trigger ${first.trigger}`,
    });
  if (payer === undefined) return concerned;
  const user = `${place}:${payer}`;
  const budget = settings.users[user] ?? settings.user;
  return [...concerned, { subject: subjects.user(user), budget, whom: "one person" }];
}

function listLimited(concerned: readonly Concerned[]): Concerned[] {
  return concerned.filter(({ budget }) => budget.cost !== undefined || budget.tokens !== undefined);
}

/**
 * Sets the estimate aside in each budget that has a limit, and keeps it there until `stop` is called; or tells which of
 * them has no room for it.
 */
async function holdReservation(
  options: BudgetOptions,
  of: {
    thread: ThreadId;
    isUnasked: boolean;
    day: string;
    concerned: readonly Concerned[];
    estimate: Estimate;
  },
): Promise<{ id: string; stop(): void } | { usedUp: BudgetExhausted }> {
  const { settings, lapseMs = 60_000 } = options;
  const { day } = of;
  const id = randomUUID();
  const limited = listLimited(of.concerned);
  if (limited.length === 0) return { id, stop() {} };
  const resets = `midnight (${settings.timeZone})`;
  const reserve = () => runReserve(options, { id, day, limited, estimate: of.estimate, lapseMs });

  const [result, ...notices] = await reserve();
  for (const [number, measure, limit] of inThrees(notices)) {
    const about = limited[number - 1];
    if (!about) throw new Error(`The script reserve.lua told of a budget ${number} that it was not given.`);
    const { subject, budget, whom } = about;
    const words = `${formatAmount(measure, limit)} a day for ${whom}`;
    if (result === "refused") {
      const extension = formatAmount(measure, (inScript(budget, measure) * settings.extensionPercent) / 100);
      return { usedUp: { budget: `${day} ${subject}`, limit: words, resets, extension } };
    }
    options.warn(of.isUnasked ? undefined : of.thread, {
      key: `budget:${day}:${subject}`,
      markdown: `⚠️ **${warnPercent} % of the budget of ${words} is used.** When it is used up I pause until ${resets}.`,
    });
  }
  const renewing = setInterval(() => void reserve().catch(options.onError), lapseMs / 3);
  return { id, stop: () => clearInterval(renewing) };
}

async function runReserve(
  { redis, settings }: BudgetOptions,
  of: { id: string; day: string; limited: readonly Concerned[]; estimate: Estimate; lapseMs: number },
) {
  const { id, day, limited, estimate, lapseMs } = of;
  const reply = await reserveScript.run(
    redis,
    [
      keys.usage(day),
      keys.warned(day),
      ...limited.flatMap(({ subject }) => [keys.held(day, subject), keys.extended(day, subject)]),
    ],
    [
      ...[id, lapseMs, toMicroDollars(estimate.cost), estimate.tokens],
      ...[settings.extensionPercent, warnPercent],
      ...limited.flatMap(({ subject, budget }) => [
        subject,
        budget.cost === undefined ? "" : toMicroDollars(budget.cost),
        budget.tokens ?? "",
      ]),
    ],
  );
  return reserveReply.parse(reply);
}

/** What the script says about budgets: the number of each, what is limited, the limit with extensions. */
function inThrees(parts: readonly unknown[]): z.infer<typeof told>[] {
  return Array.from({ length: parts.length / 3 }, (_, index) =>
    told.parse(parts.slice(3 * index, 3 * index + 3)),
  );
}

async function charge(
  { redis, settings }: BudgetOptions,
  { id, day, concerned }: { id: string; day: string; concerned: readonly Concerned[] },
  amounts: readonly (string | number)[],
  model: string,
): Promise<void> {
  const names = [...concerned.map(({ subject }) => subject), subjects.model(model)];
  const limited = listLimited(concerned);
  await chargeScript.run(
    redis,
    [keys.usage(day), keys.charged(id), ...limited.map(({ subject }) => keys.held(day, subject))],
    [id, settings.keepDays * daySeconds, names.length, ...names, ...amounts],
  );
}

/** A limit in the units of reserve.lua. */
function inScript({ cost = 0, tokens = 0 }: DayBudget, measure: Measure): number {
  return measure === "cost" ? toMicroDollars(cost) : tokens;
}

function listFigures(usage: Usage, turns: number): (string | number)[] {
  const { input, output, cacheRead, cacheWrite, calls, priceUnknown } = usage;
  const figures = { input, output, cacheRead, cacheWrite, cost: toMicroDollars(usage.cost), calls, turns };
  return [...Object.entries(figures).flat(), "unpriced", priceUnknown ? calls : 0];
}
