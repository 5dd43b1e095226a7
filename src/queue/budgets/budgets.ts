import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import type { OpenTurn } from "../../agent/history.ts";
import { isFromPerson } from "../../agent/messages.ts";
import type { Usage } from "../../agent/model.ts";
import type { BudgetExhausted, TurnBudget } from "../../agent/turn-budget.ts";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { loadScript } from "../redis/script.ts";
import { formatAmount, formatDay, subjects, toMicroDollars } from "./usage.ts";

const reserveScript = loadScript(new URL("scripts/reserve.lua", import.meta.url));
const chargeScript = loadScript(new URL("scripts/charge.lua", import.meta.url));

/** What may be used in one day. Absent: without limit. */
interface DayBudget {
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

export interface BudgetOptions {
  redis: Redis;
  settings: BudgetSettings;
  now(): number;
  /** A budget has come near its end: to be told in the thread whose turn brought it there. Once a budget and day. */
  warn(thread: ThreadId, warning: { key: string; markdown: string }): void;
  onError(error: unknown): void;
  /** When a reservation that nobody keeps alive lapses, ms. Default a minute. */
  lapseMs?: number;
}

/** The day's budgets of people, channels and everybody together, kept by all workers. */
export interface Budgets {
  /** Of a turn: the person whose message began it pays, the channel, and everybody together. */
  turnBudget(thread: ThreadId, turn: OpenTurn | undefined): TurnBudget;
  /** Whether this budget, used up at some time, is still that of today. */
  isOfToday(budget: string): boolean;
  /** Extends it for today, once for each turn that it has ended. @returns the person whose budget it is, if any */
  extend(budget: string, turn: string): Promise<string | undefined>;
}

const warnPercent = 80;
const extendedSeconds = 172_800;

type Measure = "cost" | "tokens";

export function createBudgets(options: BudgetOptions): Budgets {
  const { redis, settings, lapseMs = 60_000 } = options;
  const { timeZone, extensionPercent } = settings;
  const today = () => formatDay(timeZone, options.now());
  const resets = `midnight (${timeZone})`;

  return {
    turnBudget(thread, turn) {
      const { platform, workspace, channel } = parseThreadId(thread);
      const place = `${platform}:${workspace}`;
      const first = turn?.asked.find(isFromPerson);
      const payer = first?.paidBy ?? first?.author.id;
      const concerned = [
        { subject: subjects.all, budget: settings.day, whom: "everybody together" },
        {
          subject: subjects.channel(`${place}:${channel}`),
          budget: settings.channels[`${place}:${channel}`] ?? settings.channel,
          whom: "this channel",
        },
        ...(payer === undefined
          ? []
          : [
              {
                subject: subjects.user(`${place}:${payer}`),
                budget: settings.users[`${place}:${payer}`] ?? settings.user,
                whom: "one person",
              },
            ]),
      ];
      const limited = concerned.filter(
        ({ budget }) => budget.cost !== undefined || budget.tokens !== undefined,
      );
      let isNew = turn === undefined || turn.usage.calls === 0;

      /** In words, what the script says about a budget: its number, what is limited, the limit with extensions. */
      const tell = (number: unknown, measure: unknown, limit: unknown) => {
        const found = limited[Number(number) - 1];
        if (!found)
          throw new Error(`The script reserve.lua told of a budget ${String(number)} that it was not given.`);
        const words = formatAmount(measure as Measure, Number(limit)); // reserve.lua names nothing else.
        return { ...found, measure: measure as Measure, limit: `${words} a day for ${found.whom}` };
      };

      return {
        async reserve(estimate) {
          const day = today();
          const id = randomUUID();
          const cost = toMicroDollars(estimate.cost);
          const reserve = async () =>
            // See the header of reserve.lua.
            (await reserveScript.run(
              redis,
              [
                keys.usage(day),
                keys.warned(day),
                ...limited.flatMap(({ subject }) => [keys.held(day, subject), keys.extended(day, subject)]),
              ],
              [
                ...[id, lapseMs, cost, estimate.tokens, extensionPercent, warnPercent],
                ...limited.flatMap(({ subject, budget }) => [
                  subject,
                  budget.cost === undefined ? "" : toMicroDollars(budget.cost),
                  budget.tokens ?? "",
                ]),
              ],
            )) as [string, ...unknown[]];

          let renewing: NodeJS.Timeout | undefined;
          if (limited.length > 0) {
            const [result, ...told] = await reserve();
            if (result === "refused") {
              const { subject, budget, measure, limit } = tell(told[0], told[1], told[2]);
              const extension = formatAmount(measure, (inScript(budget, measure) * extensionPercent) / 100);
              const usedUp: BudgetExhausted = { budget: `${day} ${subject}`, limit, resets, extension };
              return { ok: false, usedUp };
            }
            for (let at = 0; at < told.length; at += 3) {
              const { subject, limit } = tell(told[at], told[at + 1], told[at + 2]);
              options.warn(thread, {
                key: `budget:${day}:${subject}`,
                markdown: `⚠️ **${warnPercent} % of the budget of ${limit} is used.** When it is used up I pause until ${resets}.`,
              });
            }
            renewing = setInterval(() => void reserve().catch(options.onError), lapseMs / 3);
          }
          return {
            ok: true,
            async settle(usage, model) {
              clearInterval(renewing);
              const turns = isNew ? 1 : 0;
              isNew = false;
              const names = [...concerned.map(({ subject }) => subject), subjects.model(model)];
              await chargeScript.run(
                redis,
                [keys.usage(day), keys.charged(id), ...limited.map(({ subject }) => keys.held(day, subject))],
                [id, settings.keepDays * 86_400, names.length, ...names, ...measured(usage, turns)],
              );
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

/** A limit in the units of reserve.lua. */
function inScript({ cost = 0, tokens = 0 }: DayBudget, measure: Measure): number {
  return measure === "cost" ? toMicroDollars(cost) : tokens;
}

function measured(usage: Usage, turns: number): (string | number)[] {
  const { input, output, cacheRead, cacheWrite, calls, priceUnknown } = usage;
  const figures = { input, output, cacheRead, cacheWrite, cost: toMicroDollars(usage.cost), calls, turns };
  return [...Object.entries(figures).flat(), "unpriced", priceUnknown ? calls : 0];
}
