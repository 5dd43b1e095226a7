import { pino } from "pino";
import { onTestFinished } from "vitest";
import { createSlackSurface } from "../../../src/adapters/slack/surface/surface.ts";
import { type ChatSurface, SurfaceError } from "../../../src/chat/surface.ts";
import type { MessageRef, ThreadRef } from "../../../src/chat/threads.ts";
import {
  type FakeSlack,
  type FakeSlackOptions,
  type Person,
  startFakeSlack,
} from "../../fakes/slack/fake-slack.ts";
import type { FakeChannel, FakeMessage } from "../../fakes/slack/workspace.ts";

/** A surface in a workspace with one thread. */
interface Scene {
  slack: FakeSlack;
  surface: ChatSurface;
  ada: Person;
  general: FakeChannel;
  /** Ada's first message of the thread. */
  root: FakeMessage;
  rootRef: MessageRef;
  /** Where the channel is. */
  place: Omit<ThreadRef, "thread">;
  thread: ThreadRef;
  /** What is in the thread below it. */
  replies(): FakeMessage[];
}

export async function scene(options: FakeSlackOptions = {}, text = "<@BOT> do it"): Promise<Scene> {
  const slack = await startFakeSlack(options);
  onTestFinished(() => slack.close());
  const log = pino({ level: "silent" });
  const surface = createSlackSurface({ botToken: slack.botToken, apiUrl: slack.url, log });
  const ada = slack.user("ada");
  const general = slack.channel("general");
  const root = await ada.says(general, text);
  const place = { platform: "slack", workspace: slack.teamId, channel: general.id };
  const replies = () => general.messages.filter(({ threadTs }) => threadTs === root.ts);
  const rootRef = { ...place, message: root.ts };
  const thread = { ...place, thread: root.ts };
  return { slack, surface, ada, general, root, rootRef, place, thread, replies };
}

/** What the work rejects with. */
export async function failure(work: Promise<unknown>): Promise<SurfaceError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof SurfaceError)) throw new Error(`Expected a SurfaceError, got ${String(error)}.`);
  return error;
}
