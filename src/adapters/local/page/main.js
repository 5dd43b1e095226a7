/** The page: which thread is open, what its stream brings, and what the person does. */
import { connect, getStatus, postMessage, pressAction, randomId, signIn, stopThread } from "./api.js";
import { Composer } from "./composer.js";
import { byId } from "./dom.js";
import { openDrawer, setUpDrawers } from "./drawers.js";
import { WorkspacePanel } from "./files.js";
import { Conversation } from "./messages.js";
import { showStatus } from "./status.js";
import { ThreadList, dyeOf, threadAddress } from "./threads.js";

/** Closer than this to the end, in pixels, the conversation follows what is written. */
const nearEnd = 120;

/** A token in an address is used once, and is gone from the address before anything else happens. */
const tokenAddress = /^#token=(.+)$/;

const log = byId("log");
const scroller = byId("scroller");
const threads = new ThreadList(byId("thread-list"));
const files = new WorkspacePanel(byId("file-list"));
const conversation = new Conversation(log, stop, press);
const composer = new Composer(send);

let current = null;
let disconnect = () => {};

function openThread() {
  current = /^#\/t\/([a-z0-9]{8,32})$/.exec(location.hash)?.[1] ?? null;
  openDrawer(null);
  disconnect();
  conversation.clear();
  threads.select(current);
  files.open(null);
  note("");
  document.body.classList.toggle("empty", current === null);
  byId("main").className = current ? dyeOf(current) : "";
  showTitle(current ? "" : "New thread");
  showRunning();
  disconnect = connect(current, live);
  // On a phone the keyboard would cover what was asked for.
  if (matchMedia("(pointer: fine)").matches) composer.focus();
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
  connected(yes) {
    const restarted = yes && !byId("connection").hidden;
    byId("connection").hidden = yes;
    if (restarted) getStatus().then(showStatus, (error) => note(error.message));
  },
  refused: () => startLater(),
};

async function send(text, key) {
  const thread = current ?? randomId();
  try {
    await postMessage(thread, text, key);
  } catch (error) {
    note(error.message);
    return false;
  }
  note("");
  scroller.scrollTop = scroller.scrollHeight;
  if (current === null) location.hash = threadAddress(thread);
  return true;
}

async function stop() {
  if (!current) return;
  showStopping(true);
  announce("Stopping.");
  try {
    const verdict = await stopThread(current);
    if (verdict.kind === "stopping") return;
    note(verdict.reply ?? verdict.why ?? "");
  } catch (error) {
    note(error.message);
  }
  showStopping(false);
}

async function press(message, { id, asksFor }) {
  const text = asksFor ? prompt(asksFor) : undefined;
  // Taken back.
  if (text === null) return;
  try {
    const verdict = await pressAction(current, message.id, id, text);
    // Why it was refused is said in the thread.
    note(verdict.kind === "ignored" ? `Nothing happened: ${verdict.why}.` : (verdict.reply ?? ""));
  } catch (error) {
    note(error.message);
  }
}

/** What was asked to stop says so until it has stopped. */
function showStopping(yes) {
  for (const button of document.querySelectorAll("button.stop")) {
    button.disabled = yes;
    button.lastChild.textContent = yes ? "Stopping…" : "Stop";
  }
}

/** Changes the conversation, and keeps its end in view for whoever was reading there. */
function following(change, always = false) {
  const atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < nearEnd;
  change();
  if (atEnd || always) scroller.scrollTop = scroller.scrollHeight;
  showJump();
}

function showJump() {
  byId("jump").hidden = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < nearEnd;
}

function showRunning() {
  const { running } = conversation;
  document.body.classList.toggle("running", running);
  byId("stop").hidden = !running;
  if (!running) showStopping(false);
}

function showTitle(title) {
  byId("title").textContent = title;
  document.title = title ? `${title} · Heddle` : "Heddle";
}

/** One line above the composer: why something was not done. */
function note(text) {
  byId("note").textContent = text;
}

/** Said by screen readers. The live edits are not: nobody can listen to them. */
function announce(text) {
  byId("announcer").textContent = text;
}

/** Signs in if needed, then shows everything. */
async function start() {
  const [, token] = tokenAddress.exec(location.hash) ?? [];
  if (token) history.replaceState(null, "", location.pathname);
  try {
    if (token) await signIn(decodeURIComponent(token));
    showStatus(await getStatus());
    openThread();
  } catch (error) {
    if (error.status === 401) {
      byId("sign-in").showModal();
    } else {
      note(error.message);
      startLater();
    }
  }
}

function startLater() {
  setTimeout(() => void start(), 2500);
}

byId("sign-in-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await signIn(byId("token").value);
    byId("token").value = "";
    byId("sign-in").close();
    void start();
  } catch (error) {
    byId("sign-in-problem").textContent = error.message;
  }
});

for (const suggestion of document.querySelectorAll("[data-say]")) {
  suggestion.addEventListener("click", () => composer.say(suggestion.dataset.say));
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing) return;
  if (!openDrawer(null) && conversation.running) void stop();
});

byId("stop").addEventListener("click", () => void stop());
byId("skip").addEventListener("click", () => composer.focus());
byId("jump").addEventListener("click", () => (scroller.scrollTop = scroller.scrollHeight));
byId("refresh").addEventListener("click", () => current && void files.refresh());
scroller.addEventListener("scroll", showJump, { passive: true });
addEventListener("hashchange", () => (tokenAddress.test(location.hash) ? void start() : openThread()));
setUpDrawers();
void start();
