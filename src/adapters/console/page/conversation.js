/** The conversation of one console thread: what its stream brings, and what the person does. */
import { connect, getThreads, pressAction, postMessage, randomId, sendFile, stopThread } from "./api.js";
import { askFor } from "./ask.js";
import { Composer } from "./composer.js";
import { byId } from "./dom.js";
import { files } from "./files.js";
import { Conversation } from "./messages.js";
import { announce, note, showTitle } from "./toast.js";
import { sessionAddress } from "./all-threads.js";
import { ThreadList, dyeOf, threadAddress } from "./threads.js";

/** Closer than this to the end, in pixels, the conversation follows what is written. */
const nearEnd = 120;

const log = byId("log");
const scroller = byId("scroller");
const threads = new ThreadList(byId("thread-list"));
const conversation = new Conversation(log, stop, press);
const composer = new Composer(send);

let current = null;
/** The thread that the first message of a new one makes: the same for every attempt to send it. */
let next = randomId();
/** How often a stop was asked for. */
let stops = 0;
/** Ids of files that went with an attempt that failed later: they are not sent twice. */
const sent = new WeakMap();

/** Opens a thread, or with null the page for a new one; returns what ends it. */
export function openConversation(thread, { connected, refused }) {
  current = thread;
  conversation.clear();
  files.open(null);
  document.body.classList.toggle("empty", current === null);
  byId("main").className = current ? dyeOf(current) : "";
  byId("to-timeline").hidden = current === null;
  if (current) byId("to-timeline").href = sessionAddress(`local:console:main:${current}`);
  showTitle(current ? "" : "New thread");
  showRunning();
  focusBox();
  return follow(current, { connected, refused });
}

/** Keeps the list of console threads live beside another page; returns what ends it. */
export function followThreads(on) {
  leave();
  return follow(null, on);
}

/**
 * Shows the list of console threads as it is now, beside a page with a stream of its own: browsers open six
 * connections to a server, so a tab has no more than one stream.
 */
export async function listThreads() {
  leave();
  threads.select(null);
  await listAgain();
}

/** The same, when something has happened in one of them. */
export async function listAgain() {
  threads.replace(await getThreads());
}

/** On a phone the keyboard would cover what was asked for. */
function focusBox() {
  if (matchMedia("(pointer: fine)").matches) composer.focus();
}

function leave() {
  current = null;
  conversation.clear();
  files.open(null);
  showRunning();
}

function follow(thread, on) {
  threads.select(thread);
  return connect(thread, { ...live, ...on });
}

const live = {
  threads: (all) => threads.replace(all),
  thread(thread) {
    threads.put(thread);
    if (thread.id === current) showTitle(thread.title);
  },
  conversation({ thread, messages }) {
    const first = log.childElementCount === 0;
    showTitle(thread?.title ?? "No such thread");
    if (!thread) note("There is no thread at this address, or it has been forgotten. Write, and it begins.");
    following(() => conversation.replace(current, messages), first);
    showRunning();
    if (thread && first) files.open(current);
  },
  message(message) {
    following(() => conversation.put(message));
    showRunning();
    files.changed();
    if (["answer", "notice", "question"].includes(message.kind))
      announce(`Heddle: ${message.markdown.slice(0, 300)}`);
    if (message.mark === "stopped") announce("Stopped.");
  },
  removed(id) {
    following(() => conversation.remove(id));
    showRunning();
  },
};

async function send(text, key, chosen) {
  const thread = current ?? next;
  try {
    const attachments = [];
    for (const file of chosen) attachments.push(await fileId(thread, file));
    await postMessage(thread, text, key, attachments);
  } catch (error) {
    note(error.message);
    return false;
  }
  note("");
  scroller.scrollTop = scroller.scrollHeight;
  if (thread === next) next = randomId();
  if (current === null) location.hash = threadAddress(thread);
  return true;
}

async function fileId(thread, file) {
  const known = sent.get(file);
  if (known?.thread === thread) return known.id;
  const id = await sendFile(thread, file);
  sent.set(file, { thread, id });
  return id;
}

/** Stops what the open conversation runs; false when there is nothing. */
export function stopRunning() {
  if (!conversation.running) return false;
  void stop();
  return true;
}

async function stop() {
  if (!current) return;
  const asked = ++stops;
  const wasPressed = document.activeElement?.matches("button.stop");
  showStopping(true);
  // That button is none any more, and its focus would be lost.
  if (wasPressed) focusBox();
  announce("Stopping.");
  try {
    const verdict = await stopThread(current);
    if (verdict.kind === "stopping") return;
    note(verdict.reply ?? verdict.why ?? "");
  } catch (error) {
    note(error.message);
  }
  // What became of an earlier press says nothing of a later one.
  if (asked === stops) showStopping(false);
}

async function press(message, { id, asksFor }) {
  const thread = current;
  const text = asksFor ? await askFor(asksFor) : undefined;
  if (text === null) return;
  try {
    const verdict = await pressAction(thread, message.id, id, text);
    // Why it was refused is said in the thread.
    if (verdict.kind === "ignored") note(`Nothing happened: ${verdict.why}.`);
    else note(verdict.kind === "acted" ? (verdict.reply ?? "") : "");
  } catch (error) {
    note(error.message);
  }
}

/** What was asked to stop says so until it has stopped. */
function showStopping(yes) {
  for (const button of document.querySelectorAll("#log button.stop, #stop")) {
    button.disabled = yes;
    button.lastChild.textContent = yes ? "Stopping…" : "Stop";
  }
}

/** Changes the conversation, and keeps its end in view for whoever was reading there. */
function following(change, always = false) {
  const follows = isNearEnd();
  change();
  if (follows || always) scroller.scrollTop = scroller.scrollHeight;
  showJump();
}

function isNearEnd() {
  return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < nearEnd;
}

function showJump() {
  byId("jump").hidden = isNearEnd();
}

function showRunning() {
  const { running } = conversation;
  document.body.classList.toggle("running", running);
  byId("stop").hidden = !running;
  if (!running) showStopping(false);
}

for (const suggestion of document.querySelectorAll("[data-say]")) {
  suggestion.addEventListener("click", () => composer.say(suggestion.dataset.say));
}

byId("stop").addEventListener("click", () => void stop());
byId("skip").addEventListener("click", () =>
  document.body.dataset.page === "conversation" ? composer.focus() : byId("report").focus(),
);
byId("jump").addEventListener("click", () => (scroller.scrollTop = scroller.scrollHeight));
let wasNearEnd = true;
const scrolled = () => {
  wasNearEnd = isNearEnd();
  showJump();
};
scroller.addEventListener("scroll", scrolled, { passive: true });
// The box below grows with what is written, and a phone's keyboard comes.
new ResizeObserver(() => {
  if (wasNearEnd) scroller.scrollTop = scroller.scrollHeight;
  showJump();
}).observe(scroller);
