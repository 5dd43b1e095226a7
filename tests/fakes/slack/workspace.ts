import { randomUUID } from "node:crypto";
import type { FakeElement } from "./methods-views.ts";

/** A person or bot of the fake workspace. */
export interface FakeUser {
  id: string;
  name: string;
  /** Another organisation's id makes the user external (Slack Connect). */
  teamId: string;
  isBot: boolean;
  isGuest: boolean;
  isAdmin: boolean;
  isDeactivated: boolean;
  /** Set for bots. */
  botId?: string;
}

export type ChannelKind = "public" | "private" | "im" | "mpim";

export interface FakeChannel {
  id: string;
  name: string;
  kind: ChannelKind;
  members: Set<string>;
  isArchived: boolean;
  /** In the order of their time; deleted ones are gone. */
  messages: FakeMessage[];
  /** The workspaces that have it, where it is shared (Slack Connect). The one that joined last is the last. */
  sharedBy?: Workspace[];
  /** Id of the Enterprise Grid organisation whose workspaces these are: within one, no channel is external. */
  organisation?: string;
}

interface FakeFile {
  id: string;
  name: string;
  mediaType: string;
  user: string;
  /** Of another organisation: events only tell its id. */
  isForeign?: boolean;
  /** Undefined until the bytes have been uploaded. */
  content?: Buffer;
  /** Uploaded by a bot that has not completed it: nobody sees it. */
  isIncomplete?: boolean;
}

export interface FakeMessage {
  channel: FakeChannel;
  ts: string;
  threadTs?: string;
  user: FakeUser;
  /** In Slack's markup, as the API carries it. */
  text: string;
  blocks: FakeBlock[];
  /** The cards of a program. */
  attachments?: readonly object[];
  subtype?: "file_share" | "thread_broadcast" | "tombstone";
  files: FakeFile[];
  /** Names of reactions to ids of users. */
  reactions: Map<string, Set<string>>;
  metadata?: unknown;
  editedTs?: string;
  /** Whether links are shown with a preview. */
  unfurls: boolean;
  stream?: FakeStream;
}

/** What a message that is streamed has got so far. */
export interface FakeStream {
  isOpen: boolean;
  /** By the press of Slack's own Stop. */
  isStoppedByUser?: boolean;
  startedAt: number;
  mode?: "text" | "chunks";
  text: string;
  title: string;
  tasks: Map<string, { id: string; title: string; status: string; output?: string | undefined }>;
  blocks: FakeBlock[];
}

/** A Block Kit block; what it holds depends on its type and has been validated. */
export interface FakeBlock {
  type: string;
  [field: string]: unknown;
}

/** A modal as the app has opened it. */
export interface FakeModal {
  view: {
    callback_id: string;
    private_metadata: string;
    title: string;
    label: string;
    /** Whether it may be sent empty. */
    isOptional: boolean;
    /** Its one field: ids of the block and of the element. */
    field: readonly [string, string];
    inputs: { id: string; label: string; hint?: string; isOptional: boolean; element: FakeElement }[];
  };
  /** The sentence that the app shows at the field. */
  problem?: string;
}

/** Something that Slack would tell the app, before it is decided whether the app is told. */
export interface FakeEvent {
  type: string;
  channel?: string;
  [field: string]: unknown;
}

type NewMessage = Pick<FakeMessage, "channel" | "user" | "text"> &
  Partial<
    Pick<FakeMessage, "threadTs" | "blocks" | "attachments" | "subtype" | "files" | "metadata" | "unfurls">
  >;

/** Slack's are good for three seconds; a busy machine holds up the program or the fake for as long as that. */
const triggerMs = 30_000;

/** An Enterprise Grid organisation that has installed the app as a whole: one token for all of its workspaces. */
export interface FakeOrganisation {
  id: string;
  /** Ids of the workspaces to which its administrators have added the app. */
  teams: Set<string>;
  lastId: number;
}

/** The state of one workspace with one app in it. Every change is told as the event that Slack would send. */
export class Workspace {
  readonly teamId: string;
  /** Where the app is installed for all of its workspaces at once. */
  readonly organisation: FakeOrganisation | undefined;
  readonly appId = "A0HEDDLE";
  readonly bot: FakeUser;
  readonly users = new Map<string, FakeUser>();
  readonly channels = new Map<string, FakeChannel>();
  readonly files = new Map<string, FakeFile>();
  /** Status of agent sessions by `channel:thread`. */
  readonly sessions = new Map<string, string>();
  /** Their titles. */
  readonly titles = new Map<string, string>();
  /** What stands under a thread ("is thinking…") by `channel:thread`. */
  readonly statuses = new Map<string, string>();
  /** What the app has told one person alone, and what Slack tells when the app did not answer. */
  readonly ephemerals: { user: string; channel: string; threadTs?: string; text: string }[] = [];
  /** Open modals, by the person who sees them. */
  readonly modals = new Map<string, FakeModal>();
  /** The home tab of the app, by person. */
  readonly homes = new Map<string, FakeBlock[]>();
  /** What allows to open a modal, for a while and once. */
  readonly triggers = new Map<string, { user: string; until: number; isUsed: boolean }>();
  /** An address on the fake's server. */
  readonly address: (path: string) => string;
  readonly #tell: (event: FakeEvent, channel: FakeChannel) => void;
  /** For limits and for what ends with time; a test may set it. */
  now: () => number = Date.now;
  /** When methods with a limit were called, ms since the epoch. */
  readonly calledAt = new Map<string, number[]>();
  #lastMicros = 0;
  #lastId = 0;

  /** @param tell called with every event, for channels that the bot is in or not */
  constructor(
    teamId: string,
    address: (path: string) => string,
    tell: (event: FakeEvent, channel: FakeChannel) => void,
    botId = "U0HEDDLE",
    organisation?: FakeOrganisation,
  ) {
    this.teamId = teamId;
    this.organisation = organisation;
    this.bot = {
      id: botId,
      botId: "B0HEDDLE",
      name: "heddle",
      teamId,
      isBot: true,
      isGuest: false,
      isAdmin: false,
      isDeactivated: false,
    };
    this.users.set(this.bot.id, this.bot);
    this.address = address;
    this.#tell = tell;
  }

  /** A time stamp as Slack makes them: the real time, and never the same twice. */
  timestamp(): string {
    this.#lastMicros = Math.max(this.#lastMicros + 1, Date.now() * 1_000);
    return `${Math.floor(this.#lastMicros / 1e6)}.${String(this.#lastMicros % 1e6).padStart(6, "0")}`;
  }

  id(prefix: string): string {
    // Within one organisation no two things have the same id.
    if (this.organisation) this.#lastId = this.organisation.lastId;
    this.#lastId += 1;
    if (this.organisation) this.organisation.lastId = this.#lastId;
    return `${prefix}${String(this.#lastId).padStart(8, "0")}`;
  }

  /** For an interaction of that person. */
  trigger(user: FakeUser): string {
    const id = this.id("Tr");
    this.triggers.set(id, { user: user.id, until: Date.now() + triggerMs, isUsed: false });
    return id;
  }

  message(channel: FakeChannel, ts: string): FakeMessage | undefined {
    return channel.messages.find((message) => message.ts === ts);
  }

  post(message: NewMessage): FakeMessage {
    const posted: FakeMessage = {
      ts: this.timestamp(),
      blocks: [],
      files: [],
      reactions: new Map(),
      unfurls: true,
      ...message,
    };
    posted.channel.messages.push(posted);
    if (posted.user === this.bot) this.statuses.delete(`${posted.channel.id}:${posted.threadTs}`);
    const event = messageEvent(this, posted);
    const bots = (posted.channel.sharedBy ?? [this]).map(({ bot }) => bot.id);
    const isMention = !posted.user.isBot && bots.some((id) => posted.text.includes(`<@${id}>`));
    if (isMention && posted.channel.kind !== "im") {
      const { channel_type: _channelType, subtype: _subtype, ...mention } = event;
      this.#tell({ ...mention, type: "app_mention" }, posted.channel);
    }
    this.#tell(event, posted.channel);
    return posted;
  }

  edit(message: FakeMessage, change: Pick<FakeMessage, "text" | "blocks" | "subtype">): void {
    const previous = wireMessage(this, message);
    Object.assign(message, change, { editedTs: this.timestamp() });
    this.#tell(
      {
        ...messageChange(this, message.channel),
        subtype: "message_changed",
        message: wireMessage(this, message),
        previous_message: previous,
      },
      message.channel,
    );
  }

  remove(message: FakeMessage): void {
    const { channel, ts } = message;
    if (channel.messages.some((other) => other.threadTs === ts && other !== message)) {
      // Slack keeps a place for the thread.
      this.edit(message, { subtype: "tombstone", text: "This message was deleted.", blocks: [] });
      return;
    }
    channel.messages.splice(channel.messages.indexOf(message), 1);
    this.#tell(
      {
        ...messageChange(this, channel),
        subtype: "message_deleted",
        deleted_ts: message.ts,
        previous_message: wireMessage(this, message),
      },
      channel,
    );
  }

  react(user: FakeUser, name: string, message: FakeMessage): void {
    const users = message.reactions.get(name) ?? new Set();
    message.reactions.set(name, users.add(user.id));
    this.#tell(this.#reactionEvent("reaction_added", user, name, message), message.channel);
  }

  unreact(user: FakeUser, name: string, message: FakeMessage): void {
    const users = message.reactions.get(name);
    users?.delete(user.id);
    if (users?.size === 0) message.reactions.delete(name);
    this.#tell(this.#reactionEvent("reaction_removed", user, name, message), message.channel);
  }

  /** The press of Slack's own Stop button; it leaves the status of the session alone. */
  stopSession(user: FakeUser, channel: FakeChannel, threadTs: string): void {
    const type = "agent_session_stopped";
    const place = { channel: channel.id, thread_ts: threadTs };
    const streams = channel.messages.filter(
      ({ threadTs: of, stream }) => of === threadTs && stream?.isOpen === true,
    );
    for (const { stream } of streams) Object.assign(stream ?? {}, { isOpen: false, isStoppedByUser: true });
    const streaming = streams.map(({ ts }) => ts);
    this.#tell(
      { type, ...place, user: user.id, streaming_message_ts: streaming, event_ts: this.timestamp() },
      channel,
    );
  }

  #reactionEvent(type: string, user: FakeUser, name: string, message: FakeMessage): FakeEvent {
    return {
      type,
      user: user.id,
      reaction: name,
      item_user: message.user.id,
      item: { type: "message", channel: message.channel.id, ts: message.ts },
      event_ts: this.timestamp(),
    };
  }
}

const channelTypes: Record<ChannelKind, string> = {
  public: "channel",
  private: "group",
  im: "im",
  mpim: "mpim",
};

function messageEvent(workspace: Workspace, message: FakeMessage): FakeEvent {
  return {
    ...wireMessage(workspace, message),
    channel: message.channel.id,
    channel_type: channelTypes[message.channel.kind],
    event_ts: message.ts,
  };
}

function messageChange(workspace: Workspace, channel: FakeChannel): FakeEvent {
  const ts = workspace.timestamp();
  return {
    type: "message",
    hidden: true,
    channel: channel.id,
    channel_type: channelTypes[channel.kind],
    ts,
    event_ts: ts,
  };
}

/** A message as the API shows it. */
export function wireMessage(
  workspace: Workspace,
  message: FakeMessage,
  options: { withMetadata?: boolean } = {},
): FakeEvent {
  const { user, blocks, files, reactions } = message;
  return {
    type: "message",
    ...(message.subtype && { subtype: message.subtype }),
    user: user.id,
    ...(user.botId && { bot_id: user.botId, app_id: workspace.appId }),
    team: user.teamId,
    ts: message.ts,
    ...placeInThread(message),
    text: message.text,
    client_msg_id: user.isBot ? undefined : randomUUID(),
    ...(blocks.length > 0 && { blocks }),
    ...(message.attachments && { attachments: message.attachments }),
    ...(files.length > 0 && { files: files.map((file) => sharedFile(workspace, file)) }),
    ...(reactions.size > 0 && {
      reactions: [...reactions].map(([name, users]) => ({ name, users: [...users], count: users.size })),
    }),
    ...(message.editedTs && { edited: { user: user.id, ts: message.editedTs } }),
    ...(options.withMetadata && message.metadata !== undefined && { metadata: message.metadata }),
  };
}

/**
 * A message that has replies names its thread as they do, from the first of them on.
 * https://docs.slack.dev/reference/methods/conversations.replies
 */
function placeInThread({ ts, threadTs, channel }: FakeMessage): { thread_ts?: string; reply_count?: number } {
  if (threadTs) return { thread_ts: threadTs };
  const replies = channel.messages.filter((other) => other.threadTs === ts).length;
  return replies > 0 ? { thread_ts: ts, reply_count: replies } : {};
}

/** A file as a message shows it. */
function sharedFile(workspace: Workspace, file: FakeFile): Record<string, unknown> {
  if (file.isForeign) return { id: file.id, mode: "file_access", file_access: "check_file_info" };
  return wireFile(workspace, file);
}

export function wireFile(workspace: Workspace, file: FakeFile): Record<string, unknown> {
  return {
    id: file.id,
    name: file.name,
    title: file.name,
    mimetype: file.mediaType,
    size: file.content?.length ?? 0,
    user: file.user,
    mode: "hosted",
    url_private: workspace.address(`/files-pri/${file.id}/${encodeURIComponent(file.name)}`),
    url_private_download: workspace.address(
      `/files-pri/${file.id}/download/${encodeURIComponent(file.name)}`,
    ),
  };
}
