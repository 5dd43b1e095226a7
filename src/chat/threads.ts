/**
 * The contracts between chat platforms and the rest of Heddle. Words of a platform (`ts`, snowflake, envelope)
 * stay inside its adapter.
 */

/**
 * A place to talk. All four parts are opaque to everything but the adapter of `platform`; `workspace` is Slack's
 * workspace or Discord's server.
 */
export interface ThreadRef {
  platform: string;
  workspace: string;
  channel: string;
  thread: string;
}

export type ChannelRef = Omit<ThreadRef, "thread">;

/** `platform:workspace:channel:thread`; no part contains a colon. */
export type ThreadId = string;

export function threadId(ref: ThreadRef): ThreadId {
  return `${ref.platform}:${ref.workspace}:${ref.channel}:${ref.thread}`;
}

export function parseThreadId(id: ThreadId): ThreadRef {
  const [platform, workspace, channel, thread, ...rest] = id.split(":");
  if (!platform || !workspace || !channel || !thread || rest.length > 0) {
    throw new Error(`"${id}" is not a thread: expected platform:workspace:channel:thread.`);
  }
  return { platform, workspace, channel, thread };
}

/**
 * Whether one person talks to the bot alone there: on Slack the ids of such channels begin with D
 * (https://docs.slack.dev/reference/objects/conversation-object), on Discord they belong to no server.
 */
export function isDirect({ platform, workspace, channel }: Omit<ThreadRef, "thread">): boolean {
  if (platform === "slack") return channel.startsWith("D");
  return platform === "discord" && workspace === "dm";
}

/** A message on a platform: enough to edit it, to react to it, and to find its thread. */
export interface MessageRef {
  platform: string;
  workspace: string;
  channel: string;
  /** Unique within the channel. */
  message: string;
}
