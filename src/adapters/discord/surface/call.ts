import type { REST } from "discord.js";
import { SurfaceError } from "../../../chat/surface.ts";
import type { ThreadRef } from "../../../chat/threads.ts";
import { directWorkspace } from "../connection/ids.ts";
import { refusalCode } from "../connection/rest.ts";
import { explainMissing } from "../installation/permissions.ts";
import { toSurfaceError } from "./errors.ts";

/**
 * Calls Discord. A refusal with one of the `harmless` codes counts as done and gives undefined. When the bot lacks a
 * permission, the error says which one and where to grant it.
 * @param what the action, to follow "Discord refuses …": `posting`
 * @throws SurfaceError for every other failure
 */
export type DiscordCall = <T>(
  what: string,
  place: Pick<ThreadRef, "workspace" | "channel">,
  work: () => Promise<T>,
  harmless?: readonly number[],
) => Promise<T | undefined>;

export function createCall(rest: REST): DiscordCall {
  return async (what, { workspace, channel }, work, harmless = []) => {
    try {
      return await work();
    } catch (cause) {
      const code = refusalCode(cause);
      if (code !== undefined && harmless.includes(code)) return undefined;
      const error = toSurfaceError(what, cause);
      if (error.kind !== "forbidden" || error.isLiftable || workspace === directWorkspace) throw error;
      const why = await explainMissing(rest, workspace, channel);
      throw why ? new SurfaceError("forbidden", why, { cause }) : error;
    }
  };
}
