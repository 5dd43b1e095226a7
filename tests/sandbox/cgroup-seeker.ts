/** A bot that starts: looks for a way to hold limits when it is told over IPC, and tells which one it has found. */
import { once } from "node:events";
import { findResourceGroups } from "../../src/sandbox/bubblewrap/limits/cgroups.ts";
import { defaultLimits } from "../../src/sandbox/limits.ts";

const told = once(process, "message");
process.send?.("ready");
await told;
const { summary } = await findResourceGroups(defaultLimits);
process.send?.(summary);
process.disconnect?.();
