import type { OutboundMessage } from "../../chat/outbound.ts";
import type { Checkpoints } from "../../sandbox/checkpoints.ts";
import type { OutboxEntry } from "../outbox/contracts.ts";
import { keys } from "../redis/keys.ts";
import { listUnnotified } from "../session/mailbox/cancelled-messages.ts";
import { type Change, LeaseLost } from "../session/lease.ts";
import { readMailbox } from "../session/mailbox/mailbox.ts";
import { postedField } from "../session/questions/open-questions.ts";
import { type HeldSession, listUnproven, readHistory } from "../turns/claimed-session.ts";
import type { UndoDeps } from "./contracts.ts";
import { fork } from "./fork.ts";
import { renderPreview, renderRedone, renderUndone } from "./messages.ts";
import { planUndo } from "./plan.ts";
import { addSpan, type Span } from "./spans.ts";
import {
  readRedo,
  readRestoring,
  readUndoOrder,
  readUndone,
  type Redo,
  type Restoring,
  type UndoOrder,
} from "./stored.ts";
import { switchConversation } from "./switch-conversation.ts";

/** An order that was not carried out for so long is none any more: people have gone on, ms. */
const orderMs = 15 * 60_000;

/** Does what somebody has ordered of an undo since the last claim, and finishes what a worker that died has begun. */
export async function carryOutUndo(session: HeldSession, deps: UndoDeps): Promise<void> {
  const { lease, options } = session;
  const { head } = lease.found;
  const restoring = readRestoring(options.redis, lease.thread, head);
  if (restoring) return finishRestoring(session, deps, restoring);
  const order = readUndoOrder(options.redis, lease.thread, head);
  if (!order || order.do === "shown") return;
  if (options.now() - order.at > orderMs || readHistory(session).turn)
    return tell(session, order, `${nothingDone(order)}: the work here has gone on.`);
  try {
    await carryOut(session, deps, order);
  } catch (error) {
    // Another order than this one might be carried out; and turns must go on.
    if (error instanceof LeaseLost) throw error;
    // Whoever gets the thread next begins the order anew.
    if (session.job.aborted) return;
    deps.onError(error);
    await tell(
      session,
      order,
      `${nothingDone(order)}, because of an error that the log of this host tells of.`,
    );
  }
}

function nothingDone({ do: ordered }: UndoOrder): string {
  if (ordered === "fork") return "Nothing was forked";
  return ordered === "redo" ? "Nothing was redone" : "Nothing was undone";
}

async function carryOut(session: HeldSession, deps: UndoDeps, order: UndoOrder): Promise<void> {
  if (order.do === "dismiss") return tell(session, order, "Nothing was undone.");
  const checkpoints = await openCheckpoints(deps);
  if (!checkpoints)
    return tell(
      session,
      order,
      "I cannot undo anything here: no files are kept (`undo.checkpoints`), or there is no sandbox on this host.",
    );
  if (order.do === "fork") return tell(session, order, await fork(session, deps, order, checkpoints));
  const obstacle = await findObstacle(session);
  if (obstacle !== undefined) return tell(session, order, obstacle);
  const work: Work = { session, deps, order, checkpoints };
  if (order.do === "show") return show(work);
  return order.do === "undo" ? undo(work) : redo(work);
}

/** An order that is being carried out. */
interface Work {
  session: HeldSession;
  deps: UndoDeps;
  order: UndoOrder;
  checkpoints: Checkpoints;
}

/** Brings back the files that go with the conversation: a worker died, or its host failed, after that was decided. */
async function finishRestoring(
  session: HeldSession,
  deps: UndoDeps,
  { order, files, message }: Restoring,
): Promise<void> {
  const failed = files === undefined ? undefined : await restoreAgain(session, deps, files);
  // Whoever gets the thread next brings them back.
  if (session.job.aborted) return;
  if (failed === undefined) return say(session, order, message);
  const markdown = `⚠️ The conversation was brought back, and the files were not: ${failed}.`;
  await say(session, order, { kind: "notice", markdown });
}

/** @returns why they are not back */
async function restoreAgain(
  { lease, job }: HeldSession,
  deps: UndoDeps,
  files: string,
): Promise<string | undefined> {
  try {
    const checkpoints = await openCheckpoints(deps);
    // Whoever has taken over may have written since.
    const restored = await checkpoints?.restore(lease.thread, files, lease.holds, job);
    return restored?.ok === true ? undefined : (restored?.why ?? "this host keeps no files");
  } catch (error) {
    if (!job.aborted) deps.onError(error);
    return "of an error that the log of this host tells of";
  }
}

async function openCheckpoints({ checkpoints, onError }: UndoDeps): Promise<Checkpoints | undefined> {
  try {
    return await checkpoints();
  } catch (error) {
    onError(error);
    return undefined;
  }
}

async function show(work: Work): Promise<void> {
  const { session, deps, order, checkpoints } = work;
  const found = await planUndo(session, order, checkpoints);
  if (typeof found === "string") return tell(session, order, found);
  const { plan, turns, difference, isKept } = found;
  const waiting = (await readMailbox(session.options.redis, session.lease.thread)).length;
  const message = mask(renderPreview(order, turns, { difference, isKept, waiting }), deps);
  const shown: UndoOrder = { ...order, do: "shown", plan };
  await session.lease.append([], {
    fields: { undo: JSON.stringify(shown) },
    outbox: post(`${order.id}:undo`, message, order.id),
  });
  await session.flush(Promise.resolve(true));
}

const jobsRun =
  "A background job of this thread is running, and would go on in files that are not its own. Stop it (`stop`), then ask again.";

/** What keeps anything from being undone now. */
async function findObstacle(session: HeldSession): Promise<string | undefined> {
  const { lease, options, cancelled } = session;
  if ((await options.redis.hlen(keys.jobs(lease.thread))) > 0) return jobsRun;
  if (listUnproven(session).length > 0)
    return "A worker was lost here, and it is not known yet that its commands have ended. Ask again in some minutes.";
  return listUnnotified(cancelled).length > 0 ? "Something was just stopped here. Ask again." : undefined;
}

async function undo(work: Work): Promise<void> {
  const { session, deps, order, checkpoints } = work;
  const { lease, options } = session;
  const { plan } = order;
  const { length } = lease.found.journal;
  if (!plan || plan.length !== length)
    return tell(
      session,
      order,
      "Nothing was undone: something has happened here since. Ask again with `!undo`.",
    );
  const { files, present } = plan;
  if (present !== undefined && !(await checkpoints.isCurrent(lease.thread, present)))
    return tell(session, order, "Nothing was undone: files have changed since. Ask again with `!undo`.");
  const difference = files && present ? await checkpoints.compare(lease.thread, present, files) : undefined;
  const before = readUndone(options.redis, lease.thread, lease.found.head);
  const kept = present === undefined ? undefined : await checkpoints.find(lease.thread, present);
  const { actions, ...message } = renderUndone(order, plan, difference);
  const isKept = kept?.lost === undefined;
  const { askers } = plan;
  const redoable: Redo = { v: 1, id: order.id, length, spans: before, askers, files: present, left: files };
  await goBack(work, {
    spans: addSpan(before, { from: plan.from, to: length }),
    files,
    redo: isKept ? redoable : undefined,
    message: mask({ ...message, ...(isKept && actions && { actions }) }, deps),
  });
}

async function redo(work: Work): Promise<void> {
  const { session, order, checkpoints } = work;
  const { lease, options } = session;
  const known = readRedo(options.redis, lease.thread, lease.found.head);
  if (known?.length !== lease.found.journal.length)
    return tell(session, order, "The undo cannot be taken back any more: the conversation has gone on.");
  if (known.left !== undefined && !(await checkpoints.isCurrent(lease.thread, known.left)))
    return tell(session, order, "The undo cannot be taken back any more: files have changed since.");
  const { spans, files } = known;
  await goBack(work, { spans, files, redo: undefined, message: renderRedone(order) });
}

interface Target {
  spans: readonly Span[];
  /** The checkpoint to bring back; undefined where the files are as they should be. */
  files: string | undefined;
  redo: Redo | undefined;
  /** What people are told when it is done. */
  message: OutboundMessage;
}

/**
 * Brings files and conversation back together. The files are made ready beside the workspace; the conversation is decided
 * with one write, which also notes that these files go with it; then the files take their place. A worker that dies
 * before that write leaves both as they were, and whoever claims the session after one that dies behind it brings the
 * files, see `finishRestoring`.
 */
async function goBack(
  { session, deps, order, checkpoints }: Work,
  { spans, files, redo: redoable, message }: Target,
): Promise<void> {
  const restoring: Restoring = { v: 1, order, files, message };
  let isSwitched = false;
  const commit = async () => {
    isSwitched = await switchConversation(session, spans, {
      undone: JSON.stringify({ v: 1, spans }),
      undo: "",
      redo: redoable ? JSON.stringify(redoable) : "",
      restoring: JSON.stringify(restoring),
    });
    return isSwitched;
  };
  try {
    const done =
      files === undefined
        ? (await commit()) || "the conversation cannot be read"
        : await restore(checkpoints, session, files, commit);
    if (done === true) return await say(session, order, message);
    await tell(session, order, `${nothingDone(order)}: ${done}.`);
  } catch (error) {
    if (!isSwitched || error instanceof LeaseLost) throw error;
    deps.onError(error);
    await finishRestoring(session, deps, restoring);
  }
}

/** True, or why nothing was done. */
async function restore(
  checkpoints: Checkpoints,
  { lease, job }: HeldSession,
  files: string,
  commit: () => Promise<boolean>,
): Promise<true | string> {
  const restored = await checkpoints.restore(lease.thread, files, commit, job);
  return restored.ok || restored.why;
}

/** Tells people what came of it, in the place of the preview where there is one, and the order is done. */
async function say(
  { lease, flush }: HeldSession,
  { id, do: ordered }: UndoOrder,
  message: OutboundMessage,
): Promise<void> {
  const edit: OutboxEntry = { do: "edit", field: postedField(id), message };
  const outbox =
    ordered === "undo" || ordered === "dismiss"
      ? { [`${id}:undo:closed`]: JSON.stringify(edit) }
      : post(`${id}:undo`, message);
  await lease.append([], { fields: { undo: "", restoring: "" }, outbox });
  await flush(Promise.resolve(true));
}

function tell(session: HeldSession, order: UndoOrder, markdown: string): Promise<void> {
  return say(session, order, { kind: "notice", markdown });
}

/** @param question an id by which the message can be edited later */
function post(key: string, message: OutboundMessage, question?: string): NonNullable<Change["outbox"]> {
  const entry: OutboxEntry = {
    ...{ do: "post", message, attempts: 0 },
    ...(question !== undefined && { question }),
  };
  return { [key]: JSON.stringify(entry) };
}

function mask(message: OutboundMessage, deps: UndoDeps): OutboundMessage {
  return { ...message, markdown: deps.mask(message.markdown) };
}
