/** The page: which part of it the address names, and keys that work everywhere. */
import { getStatus, signOut } from "./api.ts";
import { messageOf, notResponding, onAnswered, onDelayed, onNeedsChange } from "./transport.ts";
import {
  followThreads,
  listThreads,
  openConversation,
  refreshThreads,
  stopRunning,
} from "./conversation/conversation.ts";
import { byId, followDays } from "./dom.ts";
import { readSessionAddress, readThreadAddress, shortThread } from "./addresses.ts";
import { openDrawer, setUpDrawers } from "./drawers.ts";
import { openAllThreads } from "./operations/threads/all-threads.ts";
import { openAudit } from "./operations/audit.ts";
import { openConnect } from "./operations/connect/connect.ts";
import { openNeeds } from "./operations/needs-you.ts";
import type { OpenPage } from "./operations/report.ts";
import { openSettings } from "./operations/settings.ts";
import { openSystem } from "./operations/system.ts";
import { openTimeline } from "./operations/timeline/timeline.ts";
import { openUsage } from "./operations/usage.ts";
import { takeNeeds } from "./needs.ts";
import { may, signedOutAddress } from "./person.ts";
import { setUpShortcuts } from "./shortcuts.ts";
import {
  askForSignIn,
  finishSignIn,
  isTokenAddress,
  isUnauthorized,
  resumeGoal,
  setUpSignIn,
} from "./sign-in.ts";
import { showStatus } from "./status.ts";
import { clearToast, showDelay, showTitle, showToast } from "./toast.ts";

const reports = new Map<string, { title: string; show: OpenPage; live: boolean }>([
  ["needs", { title: "Needs you", show: openNeeds, live: false }],
  ["threads", { title: "All threads", show: openAllThreads, live: true }],
  ["usage", { title: "Usage", show: openUsage, live: false }],
  ["audit", { title: "Audit log", show: openAudit, live: false }],
  ["connect", { title: "Connect", show: openConnect, live: true }],
  ["system", { title: "System", show: openSystem, live: false }],
  ["settings", { title: "Settings in force", show: openSettings, live: false }],
]);

const report = byId("report");
let close = () => {};

const showError = (error: unknown) => showToast(messageOf(error));

const frame = {
  connected(yes: boolean) {
    const restarted = yes && !byId("connection").hidden;
    byId("connection").hidden = yes;
    if (restarted) void getStatus().then(showStatus, showError);
  },
  changed: () => void refreshThreads().catch(showError),
  refused: () => void start(),
};

function open(): void {
  close();
  openDrawer(null);
  showToast("");
  const { page, act } = pageAt(location.hash);
  document.body.dataset.page = page;
  for (const link of document.querySelectorAll<HTMLAnchorElement>("#pages a")) {
    if (link.hash === `#/${page === "settings" ? "system" : page}`) link.setAttribute("aria-current", "page");
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
interface PageAt {
  page: string;
  act(): (() => void)[];
}

function pageAt(hash: string): PageAt {
  const conversation = readThreadAddress(hash);
  if (conversation) return { page: "conversation", act: () => [openConversation(conversation, frame)] };
  const session = readSessionAddress(hash);
  if (session) {
    const show: OpenPage = (root, on) => openTimeline(root, session, on);
    return reportPage("timeline", { title: "", show, live: true }, shortThread(session.thread));
  }
  const name = hash.slice(2);
  const known = reports.get(name);
  if (known) return reportPage(name, known);
  const all = reports.get("threads");
  if (all && !may("work")) return reportPage("threads", all);
  return {
    page: "conversation",
    act() {
      const ends = [openConversation(null, frame)];
      if (!["", "#", "#/"].includes(hash))
        showToast("This address leads nowhere. Here you can begin a thread.");
      return ends;
    },
  };
}

/** `live`: the page follows a stream of its own; `selected`: the console thread that it is about. */
function reportPage(
  page: string,
  { title, show, live }: { title: string; show: OpenPage; live: boolean },
  selected: string | null = null,
): PageAt {
  const act = () => {
    document.body.classList.toggle("empty", page !== "timeline");
    byId("main").className = "";
    byId("to-timeline").hidden = true;
    byId("copy-link").hidden = true;
    showTitle(title);
    if (!live) return [followThreads(frame), show(report, frame)];
    listThreads(selected).catch(showError);
    return [show(report, frame)];
  };
  return { page, act };
}

/** Signs in if needed, then shows everything. */
async function start(): Promise<void> {
  try {
    await finishSignIn();
    showStatus(await getStatus());
    resumeGoal();
    open();
  } catch (error) {
    if (isUnauthorized(error)) {
      askForSignIn(error);
    } else {
      showError(error);
      startLater();
    }
  }
}

function startLater(): void {
  setTimeout(() => void start(), 2500);
}

byId("sign-out").addEventListener("click", () => {
  signOut().then(
    // Nothing of what was shown stays.
    () => location.replace(signedOutAddress()),
    (error: unknown) => showToast(messageOf(error)),
  );
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing || document.querySelector("dialog[open]")) return;
  // Held down, just after the one that closed a dialog, or in a text that somebody is writing it means something else.
  const box = event.target;
  const isWriting =
    (box instanceof HTMLTextAreaElement || box instanceof HTMLInputElement) && box.value !== "";
  if (event.repeat || isWriting || event.timeStamp - dialogClosedAt < 1_000) return;
  if (!openDrawer(null)) stopRunning();
});

let dialogClosedAt = -Infinity;
// It does not bubble.
document.addEventListener("close", (event) => (dialogClosedAt = event.timeStamp), { capture: true });

addEventListener("hashchange", () => (isTokenAddress(location.hash) ? void start() : open()));
onDelayed(showDelay);
onAnswered(() => clearToast(notResponding));
onNeedsChange(takeNeeds);
// The list of threads has days.
followDays(() => void refreshThreads().catch(() => {}));
setUpDrawers();
setUpShortcuts();
setUpSignIn(() => void start());
void start();
