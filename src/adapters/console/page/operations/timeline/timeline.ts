/** A thread of any platform as a timeline of its journal, read from its end, and live. */
import type { TransientEvent, TimelinePage } from "../../../../../operations/timeline/timeline-entry.ts";
import type { ThreadLine } from "../../../../../operations/finding.ts";
import { type ThreadGoal, threadAddress } from "../../addresses.ts";
import { getTimeline, watchSession } from "../../api.ts";
import { element } from "../../dom.ts";
import { files } from "../../files.ts";
import { formatCost } from "../../format.ts";
import { stateOf } from "../../states.ts";
import { showTitle, showToast } from "../../toast.ts";
import { manageMenu } from "./manage-menu.ts";
import { chip, emptyNote, failure, type Frame } from "../report.ts";
import { actionButtons } from "../thread-actions.ts";
import { namePlatform, placeOf, titleOf } from "../thread-words.ts";
import { timelineTools } from "./timeline-tools.ts";
import { TimelineWindow } from "./timeline-window.ts";

/** Shows the page in `root`; returns what ends it. */
export function openTimeline(
  root: HTMLElement,
  { thread, at }: ThreadGoal,
  { changed, connected, refused }: Frame,
): () => void {
  const head = timelineHead(thread, changed);
  const now = element("p", { class: "now", role: "status" });
  const view = new TimelineWindow(root, thread);
  const tools = timelineTools(thread, view);
  let end = () => {};
  let closed = false;
  void begin();

  async function begin(): Promise<void> {
    root.replaceChildren(emptyNote("Loading…"));
    try {
      const page = await getTimeline(thread);
      if (closed) return;
      files.open(thread);
      // The heading of a turn may be far above what is on the page.
      const heading = element("h3", { class: "unseen" }, "Records");
      root.replaceChildren(head.element, tools.element, heading, ...view.parts, now);
      showLine(page.line);
      view.show(page);
      if (page.length === 0) now.before(emptyNote("No turn has started yet. It will appear here."));
      root.scrollTop = root.scrollHeight;
      if (at !== undefined) void showRecord(Number(at), page.length);
      end = watchSession(thread, page.from + page.entries.length, {
        line: showLine,
        entries: grow,
        passing: showPassing,
        connected,
        refused,
      });
    } catch (error) {
      if (!closed) root.replaceChildren(failure(error, begin));
    }
  }

  /** What the address names. */
  async function showRecord(position: number, length: number): Promise<void> {
    if (position < length) await view.goTo(position);
    else showToast("There is no such record in this thread.");
  }

  function grow(page: TimelinePage): void {
    root.querySelector(".nothing")?.remove();
    now.textContent = "";
    view.grow(page);
    if (page.entries.some(({ kind }) => kind === "tool-result")) files.scheduleRefresh();
  }

  function showPassing(news: TransientEvent): void {
    if (news.kind === "step") now.textContent = news.text;
    else view.showPassing(news);
  }

  function showLine(line: ThreadLine | null): void {
    if (!line) return showGone();
    head.show(line);
    if (line.state === "idle") now.textContent = "";
  }

  /** Somebody has deleted it: what was deleted for good must not go on being read. */
  function showGone(): void {
    close();
    showTitle("No such thread");
    root.replaceChildren(emptyNote("This thread is gone: it was deleted, or it has expired."));
  }

  function close(): void {
    closed = true;
    files.open(null);
    tools.end();
    view.close();
    end();
  }

  return close;
}

/** What stands above the records; calls `changed` when it shows another state than before. */
function timelineHead(thread: string, changed: () => void) {
  const head = element("div", { class: "timeline-head" });
  const menu = manageMenu(thread);
  let before = "";
  const show = (line: ThreadLine) => {
    showTitle(titleOf(line));
    menu.show(line);
    // A button that is about to be pressed stays where it is.
    if (JSON.stringify(line) === before) return;
    if (before) changed();
    before = JSON.stringify(line);
    const [platform = "", , , id = ""] = thread.split(":");
    const conversation =
      platform === "local"
        ? element("a", { class: "action", href: threadAddress(id) }, "Open conversation")
        : element("span", { class: "soft" }, `Read-only here: reply in ${namePlatform(platform)}.`);
    head.replaceChildren(
      chip(...stateOf(line)),
      element("span", { class: "soft", title: thread }, placeOf(line)),
      ...(line.cost === undefined ? [] : [element("span", { class: "soft" }, formatCost(line.cost))]),
      element("span", { class: "push" }),
      conversation,
      ...actionButtons(line),
      menu.element,
    );
  };
  return { element: head, show };
}
