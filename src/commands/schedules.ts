import { consoleAuthor } from "../adapters/console/conversations/intake.ts";
import { describeSchedule } from "../agent/contracts/schedule-store.ts";
import { type AppContext, createAppContext } from "../app/context.ts";
import { openScheduleClock } from "../queue/schedules/clock.ts";
import { cancelSchedule, listSchedules } from "../queue/schedules/schedules.ts";
import { createCommandContext } from "./context.ts";
import { printResult } from "./print-result.ts";

/** Lists what is planned in all threads. */
export async function printSchedules({ json }: { json?: true }): Promise<number> {
  return await withContext(async (context, mask) => {
    const planned = await list(context);
    const lines = planned.map(({ thread, ...schedule }) => `${thread}  ${describeSchedule(schedule)}`);
    printResult(json, { schedules: planned }, lines.join("\n") || "Nothing is planned.", mask);
    return 0;
  });
}

/** Cancels a schedule as the operator. */
export async function cancelOneSchedule(
  thread: string,
  id: string,
  { json }: { json?: true },
): Promise<number> {
  return await withContext(async ({ redis, telemetry }) => {
    const wasThere = await cancelSchedule(redis, thread, id);
    const by = { ...consoleAuthor(), id: "operator" };
    if (wasThere) telemetry.audit({ action: "schedule-cancelled", thread, schedule: id, by });
    const text = wasThere ? `Schedule ${id} is cancelled.` : `There is no schedule ${id} in ${thread}.`;
    printResult(json, { thread, schedule: id, cancelled: wasThere }, text);
    return wasThere ? 0 : 1;
  });
}

async function withContext(
  work: (context: AppContext, mask: (text: string) => string) => Promise<number>,
): Promise<number> {
  const setup = await createCommandContext("warn");
  const context = await createAppContext(setup);
  try {
    return await work(context, (text) => setup.masker.mask(text));
  } finally {
    await context.close();
  }
}

async function list({ redis }: AppContext) {
  const clock = openScheduleClock(redis);
  try {
    const threads = (await clock.threads()).toSorted();
    const lists = await Promise.all(
      threads.map(async (thread) => {
        const planned = await listSchedules(redis, thread, Date.now());
        return planned.map((schedule) => ({ ...schedule, thread }));
      }),
    );
    return lists.flat();
  } finally {
    await clock.close();
  }
}
