/**
 * Named fault points: with `HEDDLE_FAULT=before-append:3` (`after-…`, default the first time) this process kills
 * itself with SIGKILL when it is about to append for the third time. Only the fault suite sets it, and outside
 * `NODE_ENV=test` it does not exist.
 */
const armed =
  process.env["NODE_ENV"] === "test"
    ? /^(before|after)-([\w-]+)(?::(\d+))?$/.exec(process.env["HEDDLE_FAULT"] ?? "")
    : null;

/** Every write and every post has one of these names. */
export type Failpoint =
  | "deliver"
  | "store-unauthorized"
  | "list"
  | "remember"
  | "wake"
  | "claim"
  | "confirm"
  | "touch"
  | "publish"
  | "take"
  | "append"
  | "snapshot"
  | "stop"
  | "edit"
  | "delete"
  | "remove-waiting"
  | "move-waiting"
  | "enter-slot"
  | "unlist"
  | "decide"
  | "acquire-write"
  | "pause"
  | "append-audit"
  | "reserve"
  | "charge"
  | "post"
  | "reply"
  | "progress"
  | "settle"
  | "mark";

/** Does the work, between the two fault points `before-<name>` and `after-<name>`. */
export const failpoint: <T>(name: Failpoint, work: () => Promise<T>) => Promise<T> = armed
  ? createKillingFailpoint(armed)
  : (_name, work) => work();

function createKillingFailpoint([, side, point, times = "1"]: RegExpExecArray): typeof failpoint {
  let left = Number(times);
  return async (name, work) => {
    const isHere = name === point && --left === 0;
    if (isHere && side === "before") die();
    const result = await work();
    if (isHere && side === "after") die();
    return result;
  };
}

/** With its supervisor, which would start another process that dies at the same point. */
function die(): void {
  if (process.connected) process.kill(process.ppid, "SIGKILL");
  process.kill(process.pid, "SIGKILL");
}
