import type { WebClient } from "@slack/web-api";
import type { BaseLogger } from "pino";
import type { ChatSurface } from "../../../chat/surface.ts";
import type { ThreadRef } from "../../../chat/threads.ts";
import { createWebClient, type SlackAccess } from "../connection/web.ts";
import { createPeople, type People } from "../inbound/people.ts";
import { downloadFile, fetchFileDetails } from "./attachments.ts";
import { callSlack } from "./call.ts";
import { readEarlierMessages } from "./earlier-messages.ts";
import { toSurfaceError } from "./errors.ts";
import { createMarks, placeReactions } from "./marks.ts";
import { createFeatures } from "./features.ts";
import { findPosted } from "./find-posted.ts";
import { createPost, messageRef, withFallbackLayout } from "./posting.ts";
import { type Layout, messageChars, renderOne, shortChars } from "./render.ts";
import { shareFile, shareUntilAborted, uploadMs } from "./sharing.ts";
import { createThreadStatus } from "./status.ts";

/** Between two edits of one message; what the workspace takes of all of them is below. */
const editIntervalMs = 1_200;

/** What a turn shows besides its status: an edit that nobody waits for costs everybody else one. */
const progressMs = [2_000, 3_000, 4_500, 6_000] as const;

/**
 * Slack removes a status after two minutes and with each of our messages. What is answered at once needs none.
 * https://docs.slack.dev/reference/methods/assistant.threads.setStatus
 */
const statusPace = { changeMs: 15_000, fadesMs: 90_000, firstMs: 150, endsWithPosts: true } as const;

/**
 * Slack limits each method for itself, in a workspace; new messages in a channel: "generally […] one message per second
 * per channel", with short bursts. `chat.update` is of Tier 3, 50 a minute: in no minute are there more than 2 + 48. Of
 * reactions what counts are the pauses that it asks for.
 * https://docs.slack.dev/apis/web-api/rate-limits
 */
const budget = {
  messages: { burst: 5, intervalMs: 1_000, reserve: 3 },
  edits: { burst: 2, intervalMs: 1_250, reserve: 1 },
  marks: { burst: 100, intervalMs: 50 },
};
/** No channel is called so. */
const wholeWorkspace = "*";

/**
 * A way to write into Slack threads. It needs no socket, so it works in worker processes too, and it neither retries nor
 * waits: the caller does. Every message carries its key, so that it can be found when the response to its post is lost
 * with the connection or with the process.
 */
export function createSlackSurface(access: SlackAccess): ChatSurface {
  // Separate clients, so that slow edits or uploads never hold up an answer.
  const posts = createWebClient(access, { timeoutMs: 20_000 });
  const edits = createWebClient(access, { timeoutMs: 10_000 });
  const files = createWebClient(access, { timeoutMs: uploadMs });
  const readers = createWebClient(access, { timeoutMs: 10_000, retries: 1 });
  const status = createThreadStatus(edits, access.log);
  const features = createFeatures(access.log);
  const findPeople = createPeopleByTeam(readers, access.log);

  return {
    platform: "slack",
    limits: {
      budget,
      editIntervalMs,
      progressMs,
      answerInPlaceChars: shortChars,
      places: placeReactions.length,
      status: statusPace,
      messageChars,
    },
    idempotentMs: 0,

    budgetPlace: ({ channel }, lane) => (lane === "messages" ? channel : wholeWorkspace),

    post: createPost({ posts, files, features, onPosted: (thread) => void status.onPosted(thread) }),

    async find(thread, key, since) {
      const found = await callSlack("conversations.replies", () => findPosted(posts, thread, key, since));
      return (found ?? []).map((ts) => messageRef(thread, ts));
    },

    async edit({ channel, message: ts }, message) {
      // Slack would look for names in an edit ("client"), which it does not do in a new message.
      const update = ({ text, blocks }: Layout) =>
        edits.chat.update({ channel, ts, text, blocks, parse: "none" });
      const layouts = renderOne(message, features);
      await callSlack("chat.update", () => withFallbackLayout(layouts, update, features));
    },

    async remove({ channel, message: ts }) {
      await callSlack("chat.delete", () => posts.chat.delete({ channel, ts }), ["message_not_found"]);
    },

    async threadOf({ platform, workspace, channel, message: ts }) {
      const answer = await callSlack(
        "conversations.replies",
        () => posts.conversations.replies({ channel, ts, limit: 1 }),
        ["thread_not_found", "message_not_found"],
      );
      const found = answer?.messages?.[0];
      return found && { platform, workspace, channel, thread: found.thread_ts ?? ts };
    },

    mark: createMarks(edits, access.marks),

    async status(thread, text, waits = false, title = "") {
      if (text === undefined) return status.setSession(thread, waits ? "suspended" : "active");
      await Promise.all([status.setSession(thread, "processing", title), status.setLine(thread, text)]);
    },

    async tellPrivately({ channel, thread }, user, text) {
      // Not shown to whoever is not in the channel.
      await callSlack(
        "chat.postEphemeral",
        () => posts.chat.postEphemeral({ channel, user, thread_ts: thread, text }),
        ["user_not_in_channel"],
      );
    },

    async upload(thread, file, _key, signal) {
      await (signal ? shareUntilAborted(access, thread, file, signal) : shareFile(files, thread, file));
      return [];
    },

    details: (file) => fetchFileDetails(readers, file),

    download: (file, signal) => downloadFile(access, file, signal),

    async earlier(thread, before, limit) {
      const messages = await callSlack("conversations.replies", () =>
        readEarlierMessages(readers, findPeople(thread), thread, before, limit),
      );
      return messages ?? [];
    },

    async channelName({ channel }) {
      const found = await callSlack("conversations.info", () => readers.conversations.info({ channel }));
      return found?.channel?.is_im ? "direct messages" : found?.channel?.name;
    },

    async person(thread, id) {
      try {
        return await findPeople(thread).author(id);
      } catch (error) {
        throw toSurfaceError("users.info", error);
      }
    },
  };
}

function createPeopleByTeam(client: WebClient, log: BaseLogger): (thread: ThreadRef) => People {
  const byTeam = new Map<string, People>();
  return ({ workspace: teamId }) => {
    const people = byTeam.get(teamId) ?? createPeople(client, teamId, log);
    byTeam.set(teamId, people);
    return people;
  };
}
