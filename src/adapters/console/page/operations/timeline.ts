/** A thread of any platform as a timeline of its journal, read from its end, and live. */
import type { TransientEvent, ThreadLine, TimelinePage } from "../../../../operations/operations.ts";
import { threadAddress } from "../addresses.ts";
import { getTimeline, messageOf, watchSession } from "../api.ts";
import { element } from "../dom.ts";
import { files } from "../files.ts";
import { formatCost, pluralize } from "../format.ts";
import { stateOf } from "../states.ts";
import { showTitle, showToast } from "../toast.ts";
import { actionButtons } from "./all-threads.ts";
import { chip, emptyNote, failure, type Frame } from "./report.ts";
import { manageMenu } from "./manage-menu.ts";
import { placeOf, titleOf } from "./thread-words.ts";
import { Entries } from "./timeline-entries.ts";

/** Shows the page in `root`; returns what ends it. */
export function openTimeline(
  root: HTMLElement,
  thread: string,
  { changed, connected, refused }: Frame,
): () => void {
  const head = timelineHead(thread, changed);
  const earlier = element("button", {
    type: "button",
    class: "action earlier",
    hidden: true,
    onclick: showEarlier,
  });
  const list = element("ol", { class: "timeline" });
  const now = element("p", { class: "now", role: "status" });
  const entries = new Entries(list);
  let end = () => {};
  let closed = false;
  void begin();

  async function begin(): Promise<void> {
    root.replaceChildren(emptyNote("Loading…"));
    try {
      const page = await getTimeline(thread);
      if (closed) return;
      files.open(thread);
      root.replaceChildren(head.element, earlier, list, now);
      showLine(page.line);
      entries.append(page.entries, page.from);
      if (page.length === 0) list.before(emptyNote("No turn has started yet. It will appear here."));
      showEarlierCount();
      root.scrollTop = root.scrollHeight;
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

  function grow({ entries: more, from }: TimelinePage): void {
    const atEnd = root.scrollHeight - root.scrollTop - root.clientHeight < 120;
    root.querySelector(".nothing")?.remove();
    entries.append(more, from);
    now.textContent = "";
    if (more.some(({ kind }) => kind === "tool-result")) files.scheduleRefresh();
    showEarlierCount();
    if (atEnd) root.scrollTop = root.scrollHeight;
  }

  function showPassing(news: TransientEvent): void {
    if (news.kind === "step") now.textContent = news.text;
    else entries.appendPassing(news);
  }

  function showLine(line: ThreadLine | null): void {
    if (!line) return;
    head.show(line);
    if (line.state === "idle") now.textContent = "";
  }

  function showEarlierCount(): void {
    earlier.hidden = entries.first === 0;
    earlier.textContent = `Show earlier records (${pluralize(entries.first, "more", "more")})`;
  }

  async function showEarlier(): Promise<void> {
    earlier.disabled = true;
    try {
      const page = await getTimeline(thread, entries.first);
      const height = root.scrollHeight;
      entries.prepend(page.entries, page.from);
      showEarlierCount();
      // What was in view stays in view.
      root.scrollTop += root.scrollHeight - height;
    } catch (error) {
      showToast(messageOf(error));
    }
    earlier.disabled = false;
  }

  return () => {
    closed = true;
    files.open(null);
    end();
  };
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
    const [platform, , , id = ""] = thread.split(":");
    const conversation =
      platform === "local"
        ? element("a", { class: "action", href: threadAddress(id) }, "Open conversation")
        : element("span", { class: "soft" }, `Read-only here: reply in ${platform}.`);
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
