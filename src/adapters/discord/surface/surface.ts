import { MessageFlags, Routes } from "discord.js";
import { z } from "zod";
import type { MessageMark } from "../../../chat/outbound.ts";
import { markInOrder } from "../../../chat/reactions.ts";
import type { ChatSurface } from "../../../chat/surface.ts";
import { directWorkspace, locateMessage } from "../connection/ids.ts";
import { createPeople } from "../connection/people.ts";
import { createRest, type DiscordAccess } from "../connection/rest.ts";
import { threadCommands } from "../interactions/commands.ts";
import { downloadAttachment } from "./attachments.ts";
import { createCall } from "./call.ts";
import { toSurfaceError } from "./errors.ts";
import { findPosted } from "./find-posted.ts";
import { createForumTags, type ForumTagNames } from "./forum-tags.ts";
import { createLookUps } from "./look-ups.ts";
import { defaultEmoji, placeEmoji, showMark } from "./marks.ts";
import { addMentionHint, createPosting } from "./posting.ts";
import { fetchQuotesBefore } from "./quotes.ts";
import { messageChars, nobody, renderOne } from "./render.ts";
import { createInThread, inOpenThread } from "./threads.ts";

/**
 * Discord states its rate limits only in the headers of its answers; these are what it is known to allow in a thread, so
 * that it rarely has to refuse. https://docs.discord.com/developers/topics/rate-limits
 */
const budget = {
  messages: { burst: 5, intervalMs: 1_000, reserve: 2 },
  edits: { burst: 5, intervalMs: 1_000, reserve: 2 },
  marks: { burst: 1, intervalMs: 300 },
};
const editIntervalMs = 1_500;
/** “… is typing” goes away after ten seconds, and with our next message. https://docs.discord.com/developers/resources/channel#trigger-typing-indicator */
const statusPace = { changeMs: 9_000, fadesMs: 0 };
/** After an hour Discord allows only some edits of a message (30046). */
const editableMs = 50 * 60_000;
/** Discord compares nonces for “the past few minutes”. https://docs.discord.com/developers/resources/message#create-message */
const idempotentMs = 120_000;

export interface DiscordSurfaceOptions extends DiscordAccess {
  /** Reactions that show the state of a message, to use instead of the usual ones; "" for none. */
  marks?: Partial<Record<MessageMark, string>>;
  /** Another address of the CDN. Default: Discord's own. */
  cdnUrl?: string;
  /** Whether messages without a mention can be read; if not, people are told to mention the bot. */
  messageContent: boolean;
  /** Absent: no post of a forum gets a tag for how it stands. */
  forumTags?: ForumTagNames | undefined;
  /** After a turn of so many seconds its end mentions whoever asked; 0: never. */
  mentionAfterSeconds?: number;
}

/** https://docs.discord.com/developers/topics/opcodes-and-status-codes#json */
const takesNoDirectMessages = 50_007;

/** https://docs.discord.com/developers/resources/user#create-dm */
const openedSchema = z.object({ id: z.string() });

/** A way to write into Discord. It needs no gateway, so it works in worker processes too. */
export function createDiscordSurface(options: DiscordSurfaceOptions): ChatSurface {
  const rest = createRest(options, { timeoutMs: 20_000 });
  const files = createRest(options, { timeoutMs: 300_000 });
  const people = createPeople(rest);
  const inThread = createInThread();
  const call = createCall(rest);
  const { forumTags } = options;
  const showForumTag = forumTags && createForumTags(rest, forumTags);
  const marks = { emoji: { ...defaultEmoji, ...options.marks }, shown: new Map() };

  return {
    platform: "discord",
    ownCommands: threadCommands.map(({ name }) => name),
    limits: {
      budget,
      editIntervalMs,
      editableMs,
      places: placeEmoji.length,
      status: statusPace,
      messageChars,
      ...(options.mentionAfterSeconds && { mentionAfterMs: options.mentionAfterSeconds * 1_000 }),
    },
    idempotentMs,

    budgetPlace: (of) => ("thread" in of ? of.thread : locateMessage(of).where),

    ...createPosting({ rest, files, inThread, call, messageContent: options.messageContent }),

    async find(thread, _key, since, { as = [] } = {}) {
      const asPosted = as.map((message) => addMentionHint(options, thread, message));
      return (await call("looking", thread, () => findPosted(rest, thread, since, asPosted))) ?? [];
    },

    async edit(ref, message) {
      const { where, message: id } = locateMessage(ref);
      // Only this flag can be changed. https://docs.discord.com/developers/resources/message#edit-message
      const body = { ...renderOne(message), flags: MessageFlags.SuppressEmbeds };
      await call("editing", ref, () =>
        inOpenThread(rest, where, () => rest.patch(Routes.channelMessage(where, id), { body })),
      );
    },

    async remove(ref) {
      const { where, message } = locateMessage(ref);
      await call("deleting", ref, () => rest.delete(Routes.channelMessage(where, message)), [10_008]);
    },

    async threadOf(ref) {
      const { platform, workspace, channel } = ref;
      const { where, message } = locateMessage(ref);
      const found = await call(
        "looking",
        ref,
        () => rest.get(Routes.channelMessage(where, message)),
        [10_003, 10_008],
      );
      if (!found) return undefined;
      const isStart = where === channel && workspace !== directWorkspace;
      return { platform, workspace, channel, thread: isStart ? message : where };
    },

    mark: markInOrder(async (ref, mark, how = {}) => {
      await call("marking", ref, () =>
        inOpenThread(rest, locateMessage(ref).where, () => showMark(rest, marks, ref, mark, how)),
      );
      await showForumTag?.(ref, mark, how);
    }),

    async status(thread, text) {
      if (text === undefined) return;
      try {
        await inThread(rest, thread, () => rest.post(Routes.channelTyping(thread.thread)));
      } catch (cause) {
        const error = toSurfaceError("typing", cause);
        if (error.kind === "forbidden" || error.kind === "gone") throw error;
      }
    },

    // Without an interaction Discord shows nothing to one person alone but a direct message.
    async tellPrivately(thread, person, text) {
      const content = thread.workspace === directWorkspace ? text : `${text} (<#${thread.thread}>)`;
      await call(
        "a direct message",
        thread,
        async () => {
          const opened = await rest.post(Routes.userChannels(), { body: { recipient_id: person } });
          const { id } = openedSchema.parse(opened);
          await rest.post(Routes.channelMessages(id), { body: { content, allowed_mentions: nobody } });
        },
        [takesNoDirectMessages],
      );
    },

    ...createLookUps({ rest, call, people }),

    download: (file, signal) => downloadAttachment(rest, file, signal, options.cdnUrl),

    async earlier(thread, before, limit) {
      const { where, message } = locateMessage(before);
      // The message that a thread starts from is in the channel, and nothing precedes it in the thread.
      if (where !== thread.thread) return [];
      const quotes = await call("reading", thread, () =>
        fetchQuotesBefore(rest, people, thread, { message, limit }),
      );
      return quotes ?? [];
    },
  };
}
