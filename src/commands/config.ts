import { stringify } from "yaml";
import { consoleAuthor } from "../adapters/console/conversations/intake.ts";
import { type AppContext, createAppContext } from "../app/context.ts";
import { formatChange, removeChange } from "../queue/stores/administration-changes.ts";
import type { ChangeableSetting } from "./changeable-settings.ts";
import { createCommandContext } from "./context.ts";
import { printResult } from "./print-result.ts";

/** Prints the settings in force, the file's and what administrators have changed in chat over them. */
export async function showConfig({ json }: { json?: true }): Promise<number> {
  return await withContext(async ({ configuration, masker }) => {
    const { settings } = configuration.current();
    const { stored, ignored } = configuration.changes();
    const changes = stored.map((change) => ({
      ...change,
      ...(ignored.some((one) => one.change === change) && { counts: false }),
    }));
    const lines = stored.map((change) => {
      const { setting, of, by, at } = change;
      const why = ignored.find((one) => one.change === change)?.why;
      const value = JSON.stringify(formatChange(change));
      const note = why === undefined ? "" : ` (does not count: ${why})`;
      return `# ${setting} of ${of}: ${value}, by ${by.name} on ${new Date(at).toISOString()}${note}`;
    });
    const changed = ["", "# Changed by administrators in chat, and contained above:", ...lines];
    const words = [stringify(settings).trimEnd(), ...(lines.length > 0 ? changed : [])].join("\n");
    printResult(json, { settings, changes }, words, (text) => masker.mask(text));
    return 0;
  });
}

/** Takes back, as the operator, what an administrator has changed. */
export async function resetSetting(
  setting: ChangeableSetting,
  of: string,
  { json }: { json?: true },
): Promise<number> {
  return await withContext(async ({ redis, telemetry }) => {
    const { before } = await removeChange(redis, { setting, of });
    if (before) {
      const by = { ...consoleAuthor(), id: "operator" };
      const is = "as in the file";
      telemetry.audit({ action: "setting-changed", setting, of, was: formatChange(before), is, by });
    }
    const words = before
      ? `${setting} of ${of} is again what the file says.`
      : `Nobody has changed ${setting} of ${of} in chat.`;
    printResult(json, { setting, of, reset: Boolean(before) }, words);
    return before ? 0 : 1;
  });
}

async function withContext(work: (context: AppContext) => Promise<number>): Promise<number> {
  const context = await createAppContext(await createCommandContext("warn"));
  try {
    return await work(context);
  } finally {
    await context.close();
  }
}
