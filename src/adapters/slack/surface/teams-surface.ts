import { SurfaceError } from "../../../chat/surface.ts";
import type { SlackServer } from "../connection/web.ts";
import { type Installations, UnreadableInstallation } from "../installation/installations.ts";
import { readTeam } from "./attachments.ts";
import { toSurfaceError } from "./errors.ts";
import { createSlackSurface, type SlackSurface } from "./surface.ts";

/** Where Slack gives no time. */
const retryMs = 2_000;

/** A way to write into threads of every team that has installed the app, each with its own token. */
export function createTeamsSurface(installations: Installations, server: SlackServer): SlackSurface {
  const known = new Map<string, { botToken: string; surface: SlackSurface }>();
  const surfaceOf = async ({ workspace: teamId }: { workspace: string }): Promise<SlackSurface> => {
    const installation = await installations.find(teamId).catch((error: unknown) => {
      if (error instanceof UnreadableInstallation) throw error;
      // Which workspaces an organisation has was not to be learnt: nothing was written, and it can be later.
      const { message, retryAfterMs } = toSurfaceError("auth.teams.list", error);
      throw new SurfaceError("rate-limited", message, {
        retryAfterMs: retryAfterMs || retryMs,
        cause: error,
      });
    });
    if (!installation) {
      known.delete(teamId);
      throw new SurfaceError(
        "forbidden",
        `The Slack app is not installed in the workspace ${teamId}, or it may not be there: look at slack.workspaces and install it again.`,
      );
    }
    const { botToken } = installation;
    const before = known.get(teamId);
    if (before?.botToken === botToken) return before.surface;
    const surface = createSlackSurface({ ...server, botToken });
    known.set(teamId, { botToken, surface });
    return surface;
  };
  // These do not depend on the token.
  const { platform, limits, idempotentMs, budgetPlace } = createSlackSurface({ ...server, botToken: "" });
  return {
    platform,
    limits,
    idempotentMs,
    budgetPlace,
    isGrowing: (ref) => known.get(ref.workspace)?.surface.isGrowing(ref) ?? false,
    post: async (thread, ...rest) => (await surfaceOf(thread)).post(thread, ...rest),
    openThread: async (channel, ...rest) => (await surfaceOf(channel)).openThread(channel, ...rest),
    find: async (thread, ...rest) => (await surfaceOf(thread)).find(thread, ...rest),
    edit: async (ref, message) => (await surfaceOf(ref)).edit(ref, message),
    remove: async (ref) => (await surfaceOf(ref)).remove(ref),
    threadOf: async (ref) => (await surfaceOf(ref)).threadOf(ref),
    mark: async (ref, ...rest) => (await surfaceOf(ref)).mark(ref, ...rest),
    status: async (thread, ...rest) => (await surfaceOf(thread)).status(thread, ...rest),
    tellPrivately: async (thread, ...rest) => (await surfaceOf(thread)).tellPrivately(thread, ...rest),
    upload: async (thread, ...rest) => (await surfaceOf(thread)).upload(thread, ...rest),
    details: async (file, signal) => (await surfaceOf({ workspace: readTeam(file) })).details(file, signal),
    async *download(file, signal) {
      yield* (await surfaceOf({ workspace: readTeam(file) })).download(file, signal);
    },
    channelName: async (thread) => (await surfaceOf(thread)).channelName(thread),
    linkTo: async (ref) => (await surfaceOf(ref)).linkTo(ref),
    person: async (thread, id) => (await surfaceOf(thread)).person(thread, id),
    earlier: async (thread, ...rest) => (await surfaceOf(thread)).earlier(thread, ...rest),
  };
}
