import type { NoteScope } from "../../agent/contracts/note-store.ts";
import type { MessageRef, ThreadId, ThreadRef } from "../../chat/threads.ts";

/**
 * Names of the keys in Redis. Everything of one thread carries its id in braces, so that it lies in one
 * cluster slot and a script may touch all of it. Other keys are single and never share a script with these.
 */
const session = (thread: ThreadId, part: string) => `heddle:{${thread}}:${part}`;

type Channel = Pick<ThreadRef, "platform" | "workspace" | "channel">;

const output = ({ platform, workspace, channel }: Channel, lane: string, part: string) =>
  `heddle:{out:${platform}:${workspace}:${channel}}:${lane}:${part}`;

const placeOf = ({ platform, workspace, channel, message }: MessageRef) =>
  `${platform}:${workspace}:${channel}:${message}`;

export const keys = {
  /** Hash: see `HeadFields` in session.ts. */
  head: (thread: ThreadId) => session(thread, "head"),
  /** List of journal records, which only grows. */
  log: (thread: ThreadId) => session(thread, "log:0"),
  /** List: what the records up to a position leave to the next turn; see session/journal/snapshot.ts. */
  snapshot: (thread: ThreadId) => session(thread, "snapshot"),
  /** The same, while the claim of that epoch writes it. */
  stagedSnapshot: (thread: ThreadId, epoch: number) => session(thread, `snapshot:${epoch}`),
  /** List of `user` records that no turn has taken. */
  mail: (thread: ThreadId) => session(thread, "mail"),
  /** List: what people without permission wrote since a turn took messages; see session/mailbox/unauthorized.ts. */
  unauthorized: (thread: ThreadId) => session(thread, "overheard"),
  /** Set: ids of the messages that the running turn works on. */
  asked: (thread: ThreadId) => session(thread, "asked"),
  /** JSON of the newest stop order. */
  stop: (thread: ThreadId) => session(thread, "stop"),
  /** Hash: worker to the time (platform's) from which on a stop ends the background jobs that it runs. */
  jobs: (thread: ThreadId) => session(thread, "jobs"),
  /** Hash: worker to JSON of what it ended on an order, until the thread is told. */
  endedJobs: (thread: ThreadId) => session(thread, "ended-jobs"),
  /** Hash: posting key to JSON of what must be in the thread. */
  outbox: (thread: ThreadId) => session(thread, "outbox"),
  /** JSON of the last state of a turn's progress message, for an hour. */
  settled: (thread: ThreadId, key: string) => session(thread, `settled:${key}`),
  /** Hash: id to JSON note. The owner is a thread, a channel or a person; a thread's are in its slot. */
  notes: (scope: NoteScope, owner: string) => `heddle:{${owner}}:notes:${scope}`,
  /** Hash: id to JSON of what is planned there. */
  schedules: (thread: ThreadId) => session(thread, "schedules"),
  /** Present for a day after the thread was told of a scheduled task that is due. */
  announced: (thread: ThreadId, firing: string) => session(thread, `announced:${firing}`),
  /** JSON of what a person has put into the first parts of a form of many fields. */
  formDraft: (thread: ThreadId, question: string) => session(thread, `form:${question}`),
  /** JSON of a task whose prompt lacks arguments, until whoever chose it has filled them in. */
  pendingPrompt: (thread: ThreadId, id: string) => session(thread, `prompt:${id}`),
  /** Bytes that the thread's commands have moved over the network on a day. */
  moved: (thread: ThreadId, day: string) => session(thread, `moved:${day}`),
  /** Present for a day after a message was accepted. In the thread's slot, so that one script can check it. */
  seen: (thread: ThreadId, message: string) => session(thread, `seen:${message}`),

  /** Written behind all else, to learn when replicas have it; see redis/replication.ts. */
  replicated: (thread: ThreadId) => session(thread, "replicated"),
  /** The same in the slot of {@link keys.waiting}. */
  replicatedList: "{heddle:waiting}:replicated",

  /** Hash: how a channel's budget of writes stands. With `line` and `tickets` in the channel's own slot. */
  rateLimit: (channel: Channel, lane: string) => output(channel, lane, "pace"),
  /** Sorted set: who waits to write there, by rank and time. */
  waitQueue: (channel: Channel, lane: string) => output(channel, lane, "line"),
  /** Sorted set: the same, by the time at which they are taken for dead. */
  waitTickets: (channel: Channel, lane: string) => output(channel, lane, "tickets"),

  /** How a bot's requests stand, of all processes: `sent` (sorted set by time), `paused` and `invalid` (a count). */
  requests: (platform: string, bot: string, part: "sent" | "paused" | "invalid") =>
    `heddle:{requests:${platform}:${bot}}:${part}`,

  /** Sorted set: threads whose turn holds a slot of that place. All places share one cluster slot. */
  slots: (place: string) => `heddle:{slots}:${place}`,
  /** Sorted set: threads whose people wait for a slot of that place, by since when. */
  slotQueue: (place: string) => `heddle:{slots}:${place}:line`,
  /** Sorted set: the same, by the time at which they are forgotten. */
  slotAsked: (place: string) => `heddle:{slots}:${place}:asked`,
  /** The state of somebody's message. */
  marked: (ref: MessageRef) => `heddle:{mark:${placeOf(ref)}}:state`,
  /** Sorted set: who writes it to the platform at this moment. */
  marking: (ref: MessageRef) => `heddle:{mark:${placeOf(ref)}}:writers`,
  /** Hash: workspace to the time, ms, until which a gateway vouches that it hears what people do there. */
  listening: (platform: string) => `heddle:listening:${platform}`,
  /** When a gateway last listened to a workspace, ms. */
  present: (platform: string, workspace: string) => `heddle:present:${platform}:${workspace}`,
  /** Present while that installation of Heddle serves; see app/process/instance.ts. */
  alive: (instance: string) => `heddle:alive:${instance}`,
  /** Present for an hour after a person has called the bot in that thread without a task. */
  called: (thread: ThreadId, person: string) => `heddle:{${thread}}:called:${person}`,
  /** Present for a day after a short reply was given to a message. */
  replied: (ref: MessageRef) => `heddle:replied:${placeOf(ref)}`,

  /** Stream: the audit log, as far as it is not in files yet. */
  audit: "heddle:{audit}:log",
  /** Hash: number and hash of the newest entry of the audit log. */
  auditHead: "heddle:{audit}:head",
  /** Present while somebody moves entries of the audit log to files, or reads all of it. */
  auditHeld: "heddle:{audit}:held",
  /** Hash: what fails in which process to JSON of why, for an hour after the last word of any. */
  auditFailing: "heddle:{audit}:failing",
  /** Hash: `platform:workspace:id` of a person to JSON of the key that their names in the audit log are sealed with. */
  auditPeople: "heddle:{audit}:people",
  /** Hash: `<subject> <measure>` to what was used on that day. All of budgets share one cluster slot. */
  usage: (day: string) => `heddle:{budget}:usage:${day}`,
  /** Hash: reservation to what it sets aside in the budget of that subject and day. */
  held: (day: string, subject: string) => `heddle:{budget}:held:${day}:${subject}`,
  /** Set: turns for whose sake that budget was extended. */
  extended: (day: string, subject: string) => `heddle:{budget}:extended:${day}:${subject}`,
  /** Set: subjects whose budget of that day is nearly used up, and with each the reservation whose thread is told so. */
  warned: (day: string) => `heddle:{budget}:warned:${day}`,
  /** Present for a while after a reservation was settled. */
  charged: (reservation: string) => `heddle:{budget}:booked:${reservation}`,

  /** What a person thinks of a turn's answer. */
  rated: (thread: ThreadId, turn: string, person: string) => session(thread, `rated:${turn}:${person}`),

  /** Set: ids of the workers that serve, and for a while of those that have died without a word. */
  workers: "heddle:workers",
  /** JSON of what a worker says of itself; gone when it is silent. */
  worker: (id: string) => `heddle:worker:${id}`,

  /** Hash: setting and whom it is about to JSON of what an administrator has changed in chat. */
  adminChanges: "heddle:admin-changes",

  /** Set and JSON like those of workers: every process that serves, with its configuration. */
  processes: "heddle:processes",
  process: (id: string) => `heddle:process:${id}`,

  /** Hash: a place whose value cannot be read to JSON of why, for a week after the last one. */
  unreadable: "heddle:unreadable",

  /** Hash: id to JSON of a person's access token, without the token itself. */
  accessTokens: "heddle:tokens",
  /** JSON of what a browser has shown that is signed in at the console; `cookie` is a digest. */
  signedIn: (cookie: string) => `heddle:signed-in:${cookie}`,
  /** Set: keys of the browsers that a provider has signed in under that name. */
  signedInAs: (name: string) => `heddle:signed-in-as:${name}`,
  /** The random text that seals what browsers carry while people sign in at a provider. */
  signInSecret: "heddle:sign-in-secret",
  /** JSON of the request that came with an idempotency key; `id` is made of the person and the key. */
  idempotent: (id: string) => `heddle:idempotent:${id}`,
  /** Hash: MCP server to the installation's account there, sealed. */
  mcpAccounts: "heddle:mcp:accounts",
  /** Hash: JSON of a server and a person (`platform:workspace:id`) to that person's account there, sealed. */
  mcpPersonAccounts: "heddle:mcp:person-accounts",
  /** Hash: MCP server to JSON of its prompts; those that a person's own account has there by themselves. */
  mcpPrompts: (person?: string) => `heddle:mcp:prompts${person === undefined ? "" : `:${person}`}`,
  /** A step of connecting a person's account, sealed; `id` is a digest. */
  mcpConnecting: (step: string, id: string) => `heddle:mcp:connecting:${step}:${id}`,
  /** JSON of what an MCP server asked during a call of that person's. */
  mcpInput: (person: string, id: string) => `heddle:mcp:input:${person}:${id}`,
  /** JSON of what that person has answered to it, until the server asks again. */
  mcpAnswer: (person: string, id: string) => `heddle:mcp:answer:${person}:${id}`,
  /** Present while a process renews the token of that account. */
  mcpRenewing: (server: string) => `heddle:mcp:renewing:${server}`,

  /** The GitHub App that was registered from the console, sealed. */
  githubApp: "heddle:github:app",
  /** JSON of who has begun to register one; `state` is a digest. */
  githubAppPending: (state: string) => `heddle:github:pending:${state}`,

  /** Hash: model, with a digest of its address, to JSON of what refusals have shown of its window. */
  learntWindows: "heddle:models:learnt",
  /** JSON of which thread has pushed a branch; `part` is the number of its pull request, or `branch:` or `commit:` and its name. */
  pullRequest: (repository: string, part: string) => `heddle:{pull:${repository}}:${part}`,

  /** Present for an hour after a process has looked for threads that their channels keep no longer. */
  forgetting: "heddle:forgetting",

  /** JSON of the thread that the events of a trigger with that key go to; `key` is a hash. */
  hookThread: (trigger: string, key: string) => `heddle:{hook:${trigger}:${key}}:thread`,
  /** What could not be read as such a thread. */
  hookThreadUnreadable: (trigger: string, key: string) => `heddle:{hook:${trigger}:${key}}:thread:unreadable`,
  /** Present while a gateway opens that thread. */
  hookOpening: (trigger: string, key: string) => `heddle:{hook:${trigger}:${key}}:opening`,
  /** The thread that a delivery of a trigger went to; `delivery` is a hash. */
  hookDelivery: (trigger: string, delivery: string) => `heddle:{hook:${trigger}}:delivery:${delivery}`,
  /** Set: messages that a trigger has brought in that hour. */
  hookTaken: (trigger: string, hour: number) => `heddle:{hook:${trigger}}:taken:${hour}`,
  /** Sorted set: messages of a trigger that went to the thread of that key in the window of its loop limit. */
  hookRecent: (trigger: string, key: string) => `heddle:{hook:${trigger}:${key}}:recent`,
  /** Present while people have been told of that limit. */
  hookLooping: (trigger: string, key: string) => `heddle:{hook:${trigger}:${key}}:looping`,
  /** Hash: deliveries of a trigger to JSON of what waits for the end of quiet hours. */
  hookHeld: (trigger: string) => `heddle:{hook:${trigger}}:held`,
  /** Present for a day after the log has told of an event that the agent's own work had caused. */
  hookOwnWork: (trigger: string) => `heddle:{hook:${trigger}}:own-work`,
  /** How many more came in that hour and were refused. */
  hookRefused: (trigger: string, hour: number) => `heddle:{hook:${trigger}}:refused:${hour}`,

  /** The thread that a message of a watched channel went to. One channel, one cluster slot. */
  watchedMessage: (channel: string, message: string) => `heddle:{watch:${channel}}:message:${message}`,
  /** Hash: the thread of the messages in a row that are being gathered in a channel or thread, and since when. */
  watchedBurst: (channel: string, within: string) => `heddle:{watch:${channel}}:burst:${within}`,

  /** Hash: `platform:workspace:id` of a person to whether the end of a turn mentions them. */
  mentionChoices: "heddle:mention-choices",
  /** Hash: `platform:workspace:id` of a channel or a person to what it is called. */
  names: "heddle:names",
  /** Hash: platform to JSON of what a gateway has heard there last; see operations/installation/heard.ts. */
  heard: "heddle:heard",

  /** Which thread a message belongs to, for stops by reaction. */
  reference: (ref: MessageRef) => `heddle:ref:${placeOf(ref)}`,
  /** Sorted set: thread by last activity. */
  threads: "heddle:threads",
  /** Sorted set: deleted thread by when, for workers that have files of it. */
  deleted: "heddle:deleted",
  /**
   * Sorted set: threads with something to do, by the time of the last message; those that wait for people, by the
   * time when their questions expire. The sweeper walks what is not in the future.
   */
  waiting: "heddle:waiting",
  /** Sorted set: threads that ask people something, or have done so, by when; see session/questions/asking-threads.ts. */
  asking: "heddle:asking",
  /** Present for ten minutes after that set was made whole. */
  askingWhole: "heddle:asking:whole",
} as const;

/** Channels of pub/sub. */
export const channels = {
  /** Thread ids with a new stop order, or where a worker has told what it ended on one. */
  stops: "heddle:stops",
  /** `changes` when an administrator has changed a setting; `reload <id>` when all processes are to read their files. */
  configuration: "heddle:configuration",
  /** Thread ids whose line in a list of sessions may have changed. */
  sessions: "heddle:sessions",
  /** Platforms of which {@link keys.heard} has changed. */
  heard: "heddle:heard",
  /** Turn events of one thread, for live viewers. */
  live: (thread: ThreadId) => `heddle:live:${thread}`,
} as const;

/** BullMQ's prefix; the braces keep all of its keys in one slot. */
export const queuePrefix = "{heddle}";
export const queueName = "turns";
export const scheduleQueueName = "schedules";

export const daySeconds = 86_400;
