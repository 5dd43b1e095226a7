import { z } from "zod";
import { count } from "./values.ts";

/** What is set for one chat platform, in `heddle.yaml`. */

const slackReaction = z
  .string()
  .regex(/^[a-z0-9_+'-]*$/, "expected names without colons, e.g. octagonal_sign");

/** The reactions with which the bot shows the state of people's messages, where they are others than usual. */
function marks(reaction: z.ZodString) {
  const markSchema = (when: string) => reaction.exactOptional().describe(`reaction: ${when}; "" for none`);
  return z
    .strictObject({
      taken: markSchema("a turn works on the message, 👀"),
      waiting: markSchema("the message waits, ⏳"),
      paused: markSchema("the work waits for people, ⏸️"),
      answered: markSchema("answered, ✅"),
      stopped: markSchema("stopped or withdrawn, 🛑"),
      failed: markSchema("told as failed, ⚠️"),
    })
    .prefault({});
}

/** One reaction cannot mean both. */
function meansOneThing(given: {
  stopReactions: readonly string[];
  startReactions: readonly string[];
}): boolean {
  return !given.startReactions.some((reaction) => given.stopReactions.includes(reaction));
}
const twice = { path: ["startReactions"], error: "expected other reactions than stopReactions" };

export const slackSchema = z
  .strictObject({
    stopReactions: z
      .array(slackReaction.min(1))
      .min(1)
      .default(["octagonal_sign", "stop_sign", "no_entry", "black_square_for_stop"])
      .describe("reactions that stop a turn"),
    startReactions: z
      .array(slackReaction.min(1))
      .default([])
      .describe(
        "reactions that give a message to the agent, under the rights of whoever puts them there; none by default",
      ),
    marks: marks(slackReaction),
    http: z
      .strictObject({
        host: z.string().min(1).default("127.0.0.1").describe("address that listens for Slack's requests"),
        port: count(0, 65_535).default(3000).describe("its port; 0 takes a free one"),
      })
      .prefault({}),
    workspaces: z
      .array(z.string().regex(/^[TE][A-Z0-9]+$/, "expected ids of workspaces or organisations, e.g. T012345"))
      .default([])
      .describe(
        "who may install the app with SLACK_CLIENT_ID: workspaces (T…), and organisations (E…) for all of theirs to which they add it; nobody by default",
      ),
  })
  .refine(meansOneThing, twice)
  .prefault({});

export const discordSchema = z
  .strictObject({
    messageContent: z
      .boolean()
      .default(true)
      .describe("whether the app has the Message Content intent; without it every message needs a mention"),
    stopReactions: z
      .array(z.string().min(1))
      .min(1)
      .default(["🛑", "⛔", "⏹️"])
      .describe("reactions that stop a turn: an emoji, or the name of one of the server's own"),
    startReactions: z
      .array(z.string().min(1))
      .default([])
      .describe(
        "reactions that give a message to the agent, under the rights of whoever puts them there; none by default",
      ),
    marks: marks(z.string()),
    forumTags: z
      .strictObject({
        working: z.string().min(1).max(20).exactOptional().describe("while a turn works on the post"),
        done: z.string().min(1).max(20).exactOptional().describe("once the last answer is there"),
      })
      .exactOptional()
      .describe(
        "tags that posts of forums which have them get for how they stand; the bot needs Manage Threads there. Without it no post is tagged",
      ),
    mentionAfterSeconds: count(0, 86_400)
      .default(60)
      .describe("after a turn of so many seconds its end mentions whoever asked; 0: never"),
    shards: z
      .strictObject({
        ids: z.array(count(0, 100_000)).min(1).describe("the shards of this gateway, counted from 0"),
        total: count(1, 100_000).describe("how many shards all gateways have together"),
      })
      .refine(({ ids, total }) => ids.every((id) => id < total), "expected ids below the total")
      .exactOptional()
      .describe("the part of all servers that this gateway listens to; without it all of them"),
  })
  .refine(meansOneThing, twice)
  .prefault({});
