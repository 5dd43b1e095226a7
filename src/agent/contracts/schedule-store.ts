/** When a scheduled task is due. */
export type When =
  /** Milliseconds since the epoch. */
  | { kind: "once"; at: number }
  /** A cron pattern of five fields, and the IANA name of the time zone that it is read in. */
  | { kind: "cron"; pattern: string; timeZone: string };

/** A task that starts a turn of this thread by itself. */
export interface Schedule {
  id: string;
  task: string;
  when: When;
  /** In whose name. */
  by: string;
  /** When it is due next, in milliseconds since the epoch. */
  next: number;
}

/**
 * Where the schedules of a thread live. The agent knows no clock and no database: whoever runs it hands one in,
 * which also decides who the schedules belong to and how many there may be.
 */
export interface ScheduleStore {
  /** `refused`: one sentence that tells what to change. */
  add(schedule: { task: string; when: When }): Promise<{ schedule: Schedule } | { refused: string }>;
  /** The next one first. */
  list(): Promise<Schedule[]>;
  /** False when there is no such schedule. */
  cancel(id: string): Promise<boolean>;
}

/** One line for people and for the model. */
export function describeSchedule({ id, task, when, by, next }: Schedule): string {
  const due = formatInstant(next);
  const time = when.kind === "once" ? `once, ${due}` : `cron ${when.pattern} (${when.timeZone}), next ${due}`;
  return `${id}: ${time}, by ${by}: ${task.replace(/\s+/g, " ")}`;
}

/** To the minute, in UTC, e.g. `2026-11-05 08:00 UTC`. */
export function formatInstant(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
