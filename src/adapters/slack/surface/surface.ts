import type { WebClient } from "@slack/web-api";
import type { BaseLogger } from "pino";
import { type ChatSurface, SurfaceError } from "../../../chat/surface.ts";
import type { MessageRef, ThreadRef } from "../../../chat/threads.ts";
import { createWebClient, type SlackAccess } from "../connection/web.ts";
import { createPeople, type People } from "../inbound/people.ts";
import { downloadFile, fetchFileDetails } from "./attachments.ts";
import { callSlack } from "./call.ts";
import { readEarlierMessages } from "./earlier-messages.ts";
import { refusesGrowing, toSurfaceError } from "./errors.ts";
import { createMarks, placeReactions } from "./marks.ts";
import { createFeatures } from "./features.ts";
import { findOpened, findPosted, findUnkeyed } from "./find-posted.ts";
import { createPost, messageRef, withFallbackLayout } from "./posting.ts";
import { type Layout, messageChars, renderOne } from "./render.ts";
import { shareFile, shareUntilAborted, uploadMs } from "./sharing.ts";
import { createThreadStatus } from "./status.ts";
import { createStreams, type Streams } from "./streams.ts";

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
  // `chat.appendStream` is of Tier 4, 100 a minute.
  appends: { burst: 5, intervalMs: 650, reserve: 1 },
};

/** Between two appends to one message: people read along. */
const appendMs = 1_000;

/** An answer that a message cannot take is posted in parts. */
const answerInPlaceChars = 8_000;
/** No channel is called so. */
const wholeWorkspace = "*";

/** What Slack has of a surface. */
export type SlackSurface = Required<
  Omit<ChatSurface, "ownCommands" | "addressOf" | "replyTo" | "release" | "isOpenThread">
>;

/**
 * A way to write into Slack threads. It needs no socket, so it works in worker processes too, and it neither retries nor
 * waits: the caller does. Every message carries its key, so that it can be found when the response to its post is lost
 * with the connection or with the process.
 */
export function createSlackSurface(access: SlackAccess): SlackSurface {
  // Separate clients, so that slow edits or uploads never hold up an answer.
  const posts = createWebClient(access, { timeoutMs: 20_000 });
  const edits = createWebClient(access, { timeoutMs: 10_000 });
  const files = createWebClient(access, { timeoutMs: uploadMs });
  const readers = createWebClient(access, { timeoutMs: 10_000, retries: 1 });
  const features = createFeatures(access.log);
  const status = createThreadStatus(edits, features, access.log);
  const streams = createStreams({
    ...{ client: posts, features },
    ...(access.streamStarts && { starts: access.streamStarts }),
    hasStopButton: (thread) => status.isProcessing(thread),
  });
  const unlessGrowing = createUnlessGrowing(streams);
  const findPeople = createPeopleByTeam(readers, access.log);

  const postMessage = createPost({
    ...{ posts, files, features },
    onPosted: (thread) => void status.onPosted(thread),
  });

  return {
    platform: "slack",
    limits: {
      budget,
      editIntervalMs,
      progressMs,
      appendMs,
      answerInPlaceChars,
      places: placeReactions.length,
      status: statusPace,
      messageChars,
    },
    idempotentMs: 0,

    budgetPlace: ({ channel }, lane) => (lane === "messages" ? channel : wholeWorkspace),

    isGrowing: (ref) => streams.has(ref),

    async post(thread, message, key, posted = []) {
      const started = posted.length === 0 ? await streams.start(thread, message) : undefined;
      if (started === undefined) return await postMessage(thread, message, key, posted);
      return started.ts === undefined ? [] : [messageRef(thread, started.ts)];
    },

    openThread: createOpening(posts, postMessage),

    async find(thread, key, since, { grows = false } = {}) {
      const found = await callSlack("conversations.replies", () => findPosted(posts, thread, key, since));
      if (found?.length || !grows) return (found ?? []).map((ts) => messageRef(thread, ts));
      const unkeyed = await callSlack("conversations.replies", () => findUnkeyed(posts, thread, since));
      for (const ts of unkeyed ?? [])
        if (await streams.end(thread.channel, ts, `${key}#0`)) return [messageRef(thread, ts)];
      return [];
    },

    async edit(ref, message) {
      if (await streams.write(ref, message)) return;
      const { channel, message: ts } = ref;
      // Slack would look for names in an edit ("client"), which it does not do in a new message.
      const update = ({ text, blocks }: Layout) =>
        unlessGrowing(ref, () => edits.chat.update({ channel, ts, text, blocks, parse: "none" }));
      const layouts = renderOne(message, features);
      await callSlack("chat.update", () => withFallbackLayout(layouts, update, features));
    },

    async remove(ref) {
      const { channel, message: ts } = ref;
      const remove = () => unlessGrowing(ref, () => posts.chat.delete({ channel, ts }));
      await callSlack("chat.delete", remove, ["message_not_found"]);
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
      const found = await callSlack("conversations.replies", () =>
        posts.conversations.replies({ channel, ts: thread, limit: 1 }),
      );
      // In a thread without replies Slack would show it to nobody.
      const isActive = found?.messages?.[0]?.thread_ts !== undefined;
      const place = isActive ? { channel, thread_ts: thread } : { channel };
      // Not shown to whoever is not in the channel.
      await callSlack("chat.postEphemeral", () => posts.chat.postEphemeral({ ...place, user, text }), [
        "user_not_in_channel",
      ]);
    },

    async upload(thread, file, _key, signal) {
      await (signal ? shareUntilAborted(access, thread, file, signal) : shareFile(files, thread, file));
      return [];
    },

    details: (file) => fetchFileDetails(readers, file),

    download: (file, signal) => downloadFile(access, file, signal),

    ...createReadings(readers, findPeople),
  };
}

/** Opens threads. An earlier attempt, whose answer was lost, is looked for first. */
function createOpening(posts: WebClient, postMessage: ChatSurface["post"]): SlackSurface["openThread"] {
  return async ({ workspace, channel }, markdown, key, since) => {
    const place = { platform: "slack", workspace, channel };
    const earlier =
      since === undefined
        ? undefined
        : await callSlack("conversations.history", () => findOpened(posts, channel, key, since));
    const toOpened = (ref: MessageRef) => ({ thread: { ...place, thread: ref.message }, ref });
    if (earlier !== undefined) return toOpened(messageRef({ ...place, thread: earlier }, earlier));
    const [ref] = await postMessage({ ...place, thread: "" }, { kind: "notice", markdown }, key);
    if (!ref) throw new SurfaceError("uncertain", "Slack did not say which message it has posted.");
    return toOpened(ref);
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

/** Slack takes neither edits nor the deletion of a message that grows, whoever has started it: it ends first. */
function createUnlessGrowing(streams: Streams) {
  return async <T>({ channel, message: ts }: MessageRef, write: () => Promise<T>): Promise<T> => {
    try {
      return await write();
    } catch (error) {
      if (!refusesGrowing(error) || !(await streams.end(channel, ts))) throw error;
      return await write();
    }
  };
}

/** What only reads, of people, channels and threads. */
function createReadings(
  readers: WebClient,
  findPeople: (thread: ThreadRef) => People,
): Pick<SlackSurface, "earlier" | "channelName" | "linkTo" | "person"> {
  return {
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

    async linkTo({ channel, message }) {
      const place = { channel, message_ts: message };
      return (await callSlack("chat.getPermalink", () => readers.chat.getPermalink(place)))?.permalink;
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
