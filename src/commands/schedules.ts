import { consoleAuthor } from "../adapters/console/intake.ts";
import { describeSchedule } from "../agent/schedule-store.ts";
import { type AppContext, createAppContext } from "../app/context.ts";
import { openScheduleClock } from "../queue/schedules/clock.ts";
import { cancelSchedule, listSchedules } from "../queue/schedules/schedules.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { stripControls } from "./run/terminal-view.ts";

/** Lists what is planned in all threads, or cancels one. */
export async function command(args: string[]): Promise<number> {
  const [verb, thread, id, ...rest] = args;
  const lists = verb === "list" && !thread;
  const cancels = verb === "cancel" && thread && id && rest.length === 0;
  if (!lists && !cancels) {
    throw new UsageError("Usage: heddle schedules list | cancel <thread> <id>");
  }
  const setup = await createCommandContext("warn");
  const context = await createAppContext(setup);
  try {
    if (!cancels) {
      process.stdout.write(setup.masker.mask(stripControls(await list(context))));
      return 0;
    }
    const { redis, telemetry } = context;
    const wasThere = await cancelSchedule(redis, thread, id);
    const by = { ...consoleAuthor(), id: "operator" };
    if (wasThere) telemetry.audit({ action: "schedule-cancelled", thread, schedule: id, by });
    process.stdout.write(
      wasThere ? `Schedule ${id} is cancelled.\n` : `There is no schedule ${id} in ${thread}.\n`,
    );
    return wasThere ? 0 : 1;
  } finally {
    await context.close();
  }
}

async function list({ redis }: AppContext): Promise<string> {
  const clock = openScheduleClock(redis);
  try {
    const threads = (await clock.threads()).toSorted();
    const lines = await Promise.all(
      threads.map(async (thread) => {
        const planned = await listSchedules(redis, thread, Date.now());
        return planned.map((schedule) => `${thread}  ${describeSchedule(schedule)}\n`);
      }),
    );
    return lines.flat().join("") || "Nothing is planned.\n";
  } finally {
    await clock.close();
  }
}
