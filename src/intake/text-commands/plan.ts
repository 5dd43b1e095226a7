/** The task behind `!plan`; undefined where the message does not begin with it, or has no task. */
export function readPlanTask(text: string): string | undefined {
  return /^[!/]plan(?:\s*:\s*|\s+)(?=\S)(.+)$/is.exec(text.trim())?.[1];
}

/** Whether it is `!plan` without a task. */
export function isBarePlan(text: string): boolean {
  return /^[!/]plan\s*:?$/i.test(text.trim());
}

export const planHint =
  "Write the task behind it: `!plan move the report to Postgres`. I look around, put a plan to you, and change nothing before you approve it.";
