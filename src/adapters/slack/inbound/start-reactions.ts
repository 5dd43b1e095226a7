import type { App } from "@slack/bolt";
import { startText } from "../../../chat/start-reaction.ts";
import type { ConnectionOf } from "../connection/team.ts";
import { parseTs, readReaction } from "./events.ts";
import { ask, readMessage, type TaskDeps } from "./ask.ts";

/**
 * Listens to reactions that give a message to the agent: whoever puts one there asks, under their own rights, and the
 * message is quoted. The question is posted in the message's thread, where everybody can see who has asked.
 *
 * @param reactions names without colons
 */
export function listenToStartReactions(
  app: App,
  connectionOf: ConnectionOf,
  { reactions, ...deps }: TaskDeps & { reactions: readonly string[] },
): void {
  if (reactions.length === 0) return;
  /** What is being asked: Slack tells of a reaction again while we are slow. */
  const asking = new Map<string, Promise<void>>();
  const start = async (
    team: Awaited<ReturnType<ConnectionOf>>,
    given: NonNullable<ReturnType<typeof readReaction>>,
  ) => {
    const { channel, ts: message } = given.item;
    const tell = (text: string, thread?: string) =>
      team.postEphemeral({ user: given.user, channel, thread }, text);
    const found = await readMessage(team, { channel, message });
    if (typeof found === "string") return tell(found);
    const { about, thread, active } = found;
    const key = `start:${given.user}:${given.event_ts}`;
    const problem = await ask(team, deps, {
      ...{ author: await team.people.author(given.user), channel, text: startText, about, thread },
      reaction: { thread, key, at: parseTs(given.event_ts) },
    });
    if (problem) await tell(problem, active);
  };
  app.event("reaction_added", async ({ event, context }) => {
    const given = readReaction(event);
    if (!given || !reactions.includes(given.name)) return;
    const team = await connectionOf(context.teamId);
    if (given.user === team.identity.botUserId) return;
    const id = `${given.item.channel} ${given.user} ${given.event_ts}`;
    const running = asking.get(id) ?? start(team, given).finally(() => asking.delete(id));
    asking.set(id, running);
    await running;
  });
}
