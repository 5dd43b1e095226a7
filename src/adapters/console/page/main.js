/** The page: which part of it the address names, signing in, and keys that work everywhere. */
import { openAllThreads } from "./all-threads.js";
import { getStatus, signIn, whenDelayed } from "./api.js";
import { openAudit } from "./audit.js";
import { followThreads, listAgain, listThreads, openConversation, stopRunning } from "./conversation.js";
import { byId } from "./dom.js";
import { openDrawer, setUpDrawers } from "./drawers.js";
import { delay, note, showTitle } from "./toast.js";
import { setUpShortcuts } from "./shortcuts.js";
import { showStatus } from "./status.js";
import { openSystem } from "./system.js";
import { openTimeline } from "./timeline.js";
import { openUsage } from "./usage.js";

/** A token in an address is used once, and is gone from the address before anything else happens. */
const tokenAddress = /^#token=(.+)$/;

const reports = {
  threads: { title: "All threads", open: openAllThreads, live: true },
  usage: { title: "Usage", open: openUsage },
  audit: { title: "Audit log", open: openAudit },
  system: { title: "System", open: openSystem },
};

const report = byId("report");
let close = () => {};

/** What pages tell the frame around them. */
const frame = {
  note,
  title: showTitle,
  connected(yes) {
    const restarted = yes && !byId("connection").hidden;
    byId("connection").hidden = yes;
    if (restarted) getStatus().then(showStatus, (error) => note(error.message));
  },
  /** For pages with a stream of their own: the state of a thread has changed. */
  changed: () => listAgain().catch((error) => note(error.message)),
  refused: () => startLater(),
};

function open() {
  close();
  openDrawer(null);
  note("");
  const { page, act } = pageAt(location.hash);
  document.body.dataset.page = page;
  for (const link of document.querySelectorAll("#pages a")) {
    if (link.hash === `#/${page}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  report.replaceChildren();
  report.scrollTop = 0;
  const ends = act();
  close = () => {
    for (const end of ends) end();
  };
}

/** `act` shows the page and returns what ends it. */
function pageAt(hash) {
  const thread = /^#\/t\/([a-z0-9]{8,32})$/.exec(hash)?.[1];
  if (thread) return { page: "conversation", act: () => [openConversation(thread, frame)] };
  const session = sessionIn(hash);
  if (session) return reportPage("timeline", "", (root, on) => openTimeline(root, session, on), true);
  const name = hash.slice(2);
  if (Object.hasOwn(reports, name)) {
    const { title, open: show, live = false } = reports[name];
    return reportPage(name, title, show, live);
  }
  return { page: "conversation", act: () => [openConversation(null, frame)] };
}

/** @param live whether the page follows a stream of its own */
function reportPage(page, title, show, live) {
  const act = () => {
    document.body.classList.toggle("empty", page !== "timeline");
    byId("main").className = "";
    byId("to-timeline").hidden = true;
    showTitle(title);
    if (!live) return [followThreads(frame), show(report, frame)];
    listThreads().catch((error) => note(error.message));
    return [show(report, frame)];
  };
  return { page, act };
}

function sessionIn(hash) {
  try {
    return decodeURIComponent(/^#\/s\/(.+)$/.exec(hash)?.[1] ?? "");
  } catch {
    return "";
  }
}

/** Signs in if needed, then shows everything. */
async function start() {
  const [, token] = tokenAddress.exec(location.hash) ?? [];
  if (token) history.replaceState(null, "", location.pathname);
  try {
    if (token) await signIn(decodeURIComponent(token));
    showStatus(await getStatus());
    open();
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
    byId("sign-in-problem").textContent =
      error.status === 401 ? "That is not the token. Look for it where Heddle was set up." : error.message;
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing || document.querySelector("dialog[open]")) return;
  if (!openDrawer(null)) stopRunning();
});

addEventListener("hashchange", () => (tokenAddress.test(location.hash) ? void start() : open()));
whenDelayed(delay);
setUpDrawers();
setUpShortcuts();
void start();
