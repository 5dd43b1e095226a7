import type { ChatPostMessageArguments, WebClient } from "@slack/web-api";
import { keepWholeAnswer } from "../../../chat/markdown.ts";
import { type OutboundMessage, withoutFile } from "../../../chat/outbound.ts";
import { type ChatSurface, SurfaceError, wasAccepted } from "../../../chat/surface.ts";
import type { MessageRef, ThreadRef } from "../../../chat/threads.ts";
import { refusesLayout, refusesLength, toSurfaceError } from "./errors.ts";
import type { Feature, Features } from "./features.ts";
import { createMetadata } from "./metadata.ts";
import { findPart } from "./find-posted.ts";
import { halve, type Part, partsAfter, toParts } from "./parts.ts";
import {
  type Layout,
  maxAnswerChars,
  type RenderedMessage,
  renderOne,
  renderPart,
  splitMessage,
} from "./render.ts";
import { shareFile } from "./sharing.ts";

interface PostDeps {
  posts: WebClient;
  files: WebClient;
  features: Features;
  /** Called after each message that was posted. */
  onPosted(thread: ThreadRef): void;
}

interface PostState extends PostDeps {
  /** Keys of messages that are not posted yet though their file is in the thread. */
  shared: Set<string>;
}

const maxShared = 1_000;

/**
 * Creates what posts messages: in parts where one is too long, as a file where there would be too many parts. Whatever
 * Slack refuses of an answer, it comes: in the plainest layout, in shorter parts, or as a file.
 */
export function createPost(deps: PostDeps): ChatSurface["post"] {
  const shared: PostState["shared"] = new Set();
  return async (thread, message, key, posted = []) => {
    const post = new Post({ ...deps, shared }, thread, message, key, posted);
    try {
      await post.run();
    } catch (error) {
      const failure = toSurfaceError("chat.postMessage", error);
      const { kind, message: text, retryAfterMs, limits, isLiftable, cause } = failure;
      // Nobody goes on with what was refused for good.
      if (!failure.isPassing && !isLiftable) shared.delete(key);
      const partly = post.refs.length > posted.length;
      throw new SurfaceError(kind, text, { retryAfterMs, partly, limits, isLiftable, cause });
    }
    shared.delete(key);
    deps.onPosted(thread);
    return post.refs;
  };
}

/** One message on its way into a thread. */
class Post {
  readonly refs: MessageRef[];
  readonly #deps: PostState;
  readonly #thread: ThreadRef;
  readonly #message: OutboundMessage;
  readonly #key: string;

  constructor(
    deps: PostState,
    thread: ThreadRef,
    message: OutboundMessage,
    key: string,
    posted: readonly MessageRef[],
  ) {
    [this.#deps, this.#thread, this.#message, this.#key] = [deps, thread, message, key];
    this.refs = [...posted];
  }

  async run(): Promise<void> {
    try {
      await this.#postAll(await this.#attachFile());
    } catch (error) {
      const { kind } = toSurfaceError("chat.postMessage", error);
      if (kind !== "rejected" || this.#message.kind !== "answer") throw error;
      const data = Buffer.from(this.#message.markdown);
      if (!(await this.#share({ name: "answer.md", data, comment: refusedHere }))) throw error;
    }
  }

  async #postAll(shown: OutboundMessage): Promise<void> {
    if (shown.calls) {
      if (this.refs.length === 0) await this.#postNext(renderOne(shown, this.#deps.features), "0");
      return;
    }
    const whole = keepWholeAnswer(this.#message.markdown, maxAnswerChars);
    const parts = toParts(splitMessage(shown));
    const [beginning] = parts;
    if (whole && beginning && this.refs.length === 0)
      await this.#postNext(
        renderPart(shown, beginning.markdown, "beginning", this.#deps.features),
        beginning.path,
      );
    if (whole && this.refs.length === 1 && (await this.#share(whole))) return;
    const last = this.refs.at(-1);
    const path =
      last && ((await findPart(this.#deps.posts, this.#thread, last)) ?? `${this.refs.length - 1}`);
    await this.#postParts(shown, path === undefined ? parts : partsAfter(parts, path));
  }

  async #postParts(shown: OutboundMessage, parts: readonly Part[]): Promise<void> {
    const left = [...parts];
    for (let part = left.shift(); part; part = left.shift()) {
      const rendered = renderPart(shown, part.markdown, part.isLast ? "end" : "middle", this.#deps.features);
      try {
        await this.#postNext(rendered, part.path);
      } catch (error) {
        const halves = shown.kind !== "question" && refusesLength(error) ? halve(part) : undefined;
        if (!halves) throw error;
        left.unshift(...halves);
      }
    }
  }

  /**
   * Before the question that it belongs to, so that nobody can decide without it; once, though Slack may take the question
   * only at a later attempt.
   *
   * @returns what is left to be posted
   */
  async #attachFile(): Promise<OutboundMessage> {
    const { shared } = this.#deps;
    const { file } = this.#message;
    if (!file || this.refs.length > 0 || shared.has(this.#key)) return this.#message;
    const content = { name: file.name, data: Buffer.from(file.text), comment: attachedAbove };
    if (!(await this.#share(content))) return withoutFile(this.#message);
    shared.add(this.#key);
    const [oldest] = shared;
    if (shared.size > maxShared && oldest !== undefined) shared.delete(oldest);
    return this.#message;
  }

  /** Whether Slack took the file. */
  #share(file: { name: string; data: Buffer; comment: string }): Promise<boolean> {
    const { files } = this.#deps;
    return wasAccepted(shareFile(files, this.#thread, file));
  }

  async #postNext(part: RenderedMessage, path: string): Promise<void> {
    const key = `${this.#key}#${this.refs.length}`;
    const { posts, features } = this.#deps;
    const post = (layout: Layout) => postOnce(posts, this.#thread, layout, { key, part: path });
    const ts = await withFallbackLayout(part, post, features);
    this.refs.push(messageRef(this.#thread, ts));
  }
}

const attachedAbove = "The whole call, for the question below.";
const refusedHere = "Slack does not take this answer as a message: it is in this file.";

export function messageRef({ workspace, channel }: ThreadRef, ts: string): MessageRef {
  return { platform: "slack", workspace, channel, message: ts };
}

/**
 * Writes a message in the best layout that Slack takes: a layout that it refuses must not cost the answer. What the layouts
 * that it refused had and this one has not is what the workspace lacks.
 */
export async function withFallbackLayout<T>(
  layouts: RenderedMessage,
  write: (layout: Layout) => Promise<T>,
  features: Pick<Features, "onRefused">,
): Promise<T> {
  const [best, ...plainer] = layouts;
  const refused = new Set<Feature>();
  for (let layout = best; ; ) {
    try {
      const written = await write(layout);
      for (const feature of refused) if (!layout.needs?.includes(feature)) features.onRefused(feature);
      return written;
    } catch (error) {
      const next = plainer.shift();
      // Slack adds codes without saying so: whatever it refuses may be about the layout.
      if (!next || toSurfaceError("", error).kind !== "rejected") throw error;
      if (refusesLayout(error)) for (const feature of layout.needs ?? []) refused.add(feature);
      layout = next;
    }
  }
}

/**
 * Posts a message and returns its `ts`.
 *
 * @param mark goes into its metadata, so that the message can be found when the answer to the post is lost
 */
async function postOnce(
  client: WebClient,
  thread: ThreadRef,
  { text, blocks }: Layout,
  mark: { key: string; part: string },
): Promise<string> {
  const message: ChatPostMessageArguments = {
    channel: thread.channel,
    // None: it begins a thread.
    ...(thread.thread !== "" && { thread_ts: thread.thread }),
    unfurl_links: false,
    unfurl_media: false,
    metadata: createMetadata(mark),
    text,
    blocks,
  };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- this is no window
  const { ts } = await client.chat.postMessage(message);
  if (ts === undefined) throw new Error("Slack's answer has no ts.");
  return ts;
}
