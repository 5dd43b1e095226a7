/** The conversation of one console thread: what its stream brings, and what the person does. */
import type { ActionButton } from "../../../../chat/outbound.ts";
import type { ConsoleMessage } from "../../conversations/console-message.ts";
import { sessionAddress, type ThreadGoal, threadAddress, wholeThread } from "../addresses.ts";
import { connect, type ConversationEvents, getThreads, postMessage, pressAction } from "../api.ts";
import { randomId } from "../random-id.ts";
import { ApiError, type Connection, messageOf } from "../transport.ts";
import { copyButton } from "../copy.ts";
import { byId } from "../dom.ts";
import { setServerTime } from "../elapsed.ts";
import { files } from "../files.ts";
import { onScroll } from "../keep-place.ts";
import { readTab, storeTab } from "../local-store.ts";
import { toSpoken } from "../markdown/plain.ts";
import { may } from "../person.ts";
import { announce, showOutcome, showTitle, showToast } from "../toast.ts";
import { askFor } from "./ask.ts";
import { Composer } from "./composer.ts";
import { fillIn } from "./fill-in.ts";
import { Conversation } from "./messages.ts";
import { ReadingPlaces } from "./reading-places.ts";
import { forgetSent, sendOnce } from "./sent-files.ts";
import { StopButtons } from "./stop-buttons.ts";
import { createSidebar } from "./sidebar.ts";
import { colorOf } from "./thread-list.ts";

const log = byId("log");
const timelineLink = byId("to-timeline", HTMLAnchorElement);
const linkCopy = byId("copy-link");
const scroller = byId("scroller");
const threads = createSidebar();
const places = new ReadingPlaces();
const conversation = new Conversation(log, scroller, {
  stop: () => void stop(),
  press: (message, action) => void press(message, action),
  retry: (text) => void composer.say(text),
  edit: (text) => composer.edit(text),
});
const composer = new Composer(send);
const stopButtons = new StopButtons(log, () => void stop());

linkCopy.append(
  ...copyButton(
    "Copy the link to this thread",
    () => new URL(current === null ? "#/" : threadAddress(current), location.href).href,
  ),
);

let current: string | null = null;
/** The message that the address names, until the conversation has come. */
let wanted: string | undefined;
/** The thread that the first message of a new one makes: the same for every attempt to send it. */
let next = randomId();
/** The same for the one that was on its way when the page was reloaded. */
const begunKey = "heddle thread that begins";
let begun: { text: string; thread: string } | null = JSON.parse(readTab(begunKey) ?? "null");

/** Opens a thread, or with null the page for a new one; returns what ends it. */
export function openConversation(goal: ThreadGoal | null, on: Connection): () => void {
  const thread = goal?.thread ?? null;
  current = thread;
  wanted = goal?.at;
  composer.open(thread);
  conversation.clear();
  files.open(null);
  document.body.classList.toggle("empty", current === null);
  byId("main").className = current ? colorOf(current) : "";
  timelineLink.hidden = current === null;
  linkCopy.hidden = current === null;
  if (current) timelineLink.href = sessionAddress(wholeThread(current));
  showTitle(current ? "" : "New thread");
  showRunning();
  focusBox();
  const end = follow(current, on);
  return () => {
    rememberPlace();
    end();
  };
}

/** Keeps the list of console threads live beside another page; returns what ends it. */
export function followThreads(on: Connection): () => void {
  leave();
  return follow(null, on);
}

/**
 * Shows the list of console threads as it is now, beside a page with a stream of its own: browsers open six
 * connections to a server, so a tab has no more than one stream.
 */
export async function listThreads(selected: string | null): Promise<void> {
  leave();
  threads.select(selected);
  await refreshThreads();
}

/** The same, when something has happened in one of them. */
export async function refreshThreads(): Promise<void> {
  threads.replace(await getThreads());
}

/** On a phone the keyboard would cover what was asked for. */
function focusBox(): void {
  if (matchMedia("(pointer: fine)").matches) composer.focus();
}

/** Not before the conversation has come: until then the place is the one from before. */
function rememberPlace(): void {
  if (current !== null && log.childElementCount > 0) places.set(current, conversation.place);
}

/** Shows what the address names, or else where somebody was reading. */
function showPlace(thread: string): void {
  const message = wanted;
  wanted = undefined;
  const place = places.get(thread);
  if (message === undefined) {
    if (place) conversation.goTo(place);
  } else if (!conversation.point(message))
    showToast("The message of this link is gone: it was deleted, or newer ones have taken its place.");
  showJump();
}

function leave(): void {
  current = null;
  conversation.clear();
  files.open(null);
  showRunning();
}

function follow(thread: string | null, { connected, refused }: Connection): () => void {
  threads.select(thread);
  return connect(thread, { ...live, connected, refused });
}

/** Of an answer that is read out; the rest is in the conversation. */
const announcedChars = 300;

const live: Omit<ConversationEvents, keyof Connection> = {
  threads: (all) => threads.replace(all),
  thread(thread) {
    threads.put(thread);
    if (thread.id === current) showTitle(thread.title);
  },
  conversation({ thread, messages, now }) {
    setServerTime(now);
    const first = log.childElementCount === 0;
    showTitle(thread?.title ?? "No such thread");
    if (!thread)
      showToast("There is no thread at this address, or it has expired. Write a message to start it.");
    if (current === null) return;
    const shown = current;
    keepEndInView(() => conversation.replace(shown, messages), first);
    if (first && thread) showPlace(shown);
    showRunning();
    if (!thread) files.open(null);
    else if (first) files.open(shown);
  },
  message(message) {
    keepEndInView(() => conversation.put(message));
    showRunning();
    files.scheduleRefresh();
    if (message.kind === "answer" || message.kind === "notice" || message.kind === "question")
      announce(`Heddle: ${toSpoken(message.markdown, announcedChars)}`);
    if (message.mark === "stopped") announce("Stopped.");
  },
  gone: (id) => threads.remove(id),
  removed(id) {
    keepEndInView(() => conversation.remove(id));
    showRunning();
  },
};

async function send(text: string, key: string, chosen: File[]): Promise<string | null> {
  const thread = current ?? (begun?.text === text ? begun.thread : next);
  if (current === null) storeTab(begunKey, JSON.stringify({ text, thread }));
  const from = location.hash;
  try {
    const attachments: string[] = [];
    for (const file of chosen) attachments.push(await sendOnce(thread, file));
    await postMessage(thread, text, key, attachments);
  } catch (error) {
    // Its files may be too old by now: the next attempt sends them again.
    if (error instanceof ApiError && error.status === 400) for (const file of chosen) forgetSent(file);
    showToast(messageOf(error));
    return null;
  }
  if (thread === next) next = randomId();
  begun = null;
  storeTab(begunKey, undefined);
  // Whoever has gone elsewhere meanwhile stays there.
  if (location.hash !== from) return thread;
  showToast("");
  conversation.goToEnd();
  if (current === null) location.hash = threadAddress(thread);
  return thread;
}

/** Stops what the open conversation runs; false when there is nothing. */
export function stopRunning(): boolean {
  if (!conversation.running || !may("work")) return false;
  void stop();
  return true;
}

async function stop(): Promise<void> {
  if (current !== null) await stopButtons.stop(current, focusBox);
}

async function press(message: ConsoleMessage, button: ActionButton): Promise<void> {
  if (current === null) return;
  const thread = current;
  const { id, label, asksFor } = button;
  const doIt = (written: Parameters<typeof pressAction>[3]) => pressAction(thread, message.id, id, written);
  try {
    // What has inputs asks for them once it is pressed.
    const isAsked = asksFor !== undefined && button.inputs === undefined;
    const does = label.replace(/ with a reason…$|…$/, "");
    const outcome = isAsked ? await askFor(asksFor, does, (text) => doIt({ text })) : await doIt({});
    if (outcome === null) return;
    if (outcome.kind === "acted" && outcome.form) return fillIn(outcome.form, (fields) => doIt({ fields }));
    // Why it was refused is said in the thread.
    if (outcome.kind === "refused") showToast("");
    else showOutcome(outcome);
  } catch (error) {
    showToast(messageOf(error));
  }
}

/** Changes the conversation, and keeps its end in view for whoever was reading there. */
function keepEndInView(change: () => void, always = false): void {
  const follows = conversation.isNearEnd;
  change();
  if (follows || always) conversation.goToEnd();
  else conversation.look();
  showJump();
}

function showJump(): void {
  byId("jump").hidden = conversation.isNearEnd;
}

function showRunning(): void {
  const running = conversation.running && may("work");
  document.body.classList.toggle("running", running);
  stopButtons.show(running);
}

for (const suggestion of document.querySelectorAll<HTMLElement>("[data-say]")) {
  suggestion.addEventListener("click", () => void composer.say(suggestion.dataset.say ?? ""));
}

byId("skip").addEventListener("click", () =>
  document.body.dataset.page === "conversation" ? composer.focus() : byId("report").focus(),
);
byId("jump").addEventListener("click", () => conversation.goToEnd());
let wasNearEnd = true;
onScroll(scroller, () => {
  conversation.look();
  wasNearEnd = conversation.isNearEnd;
  showJump();
});
// The box below grows with what is written, and a phone's keyboard comes.
new ResizeObserver(() => {
  if (wasNearEnd) conversation.goToEnd();
  else conversation.look();
  showJump();
}).observe(scroller);
addEventListener("pagehide", rememberPlace);
// A tab that nobody sees may be put away without a further word.
document.addEventListener("visibilitychange", rememberPlace);
addEventListener("beforeprint", () => conversation.print(true));
addEventListener("afterprint", () => conversation.print(false));
