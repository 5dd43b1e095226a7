/** A thread of any platform as a timeline of its journal, read from its end, and live. */
import { sessionTimeline, watchSession } from "./api.js";
import { actionFor, placeOf, titleOf } from "./all-threads.js";
import { element } from "./dom.js";
import { files } from "./files.js";
import { counted, formatCost } from "./format.js";
import { chip, emptyNote, failure } from "./report.js";
import { stateOf } from "./states.js";
import { Entries } from "./timeline-entries.js";

/** Shows the page in `root`; returns what ends it. */
export function openTimeline(root, thread, { note, changed, connected, refused, title }) {
  const head = element("div", { class: "timeline-head" });
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
  let offered = "";
  void begin();

  async function begin() {
    root.replaceChildren(emptyNote("Loading…"));
    try {
      const page = await sessionTimeline(thread);
      if (closed) return;
      files.open(thread);
      root.replaceChildren(head, earlier, list, now);
      showLine(page.line);
      entries.append(page.entries, page.from);
      if (page.length === 0)
        list.before(emptyNote("No turn has begun yet. It is shown here as soon as it does."));
      showEarlierCount();
      root.scrollTop = root.scrollHeight;
      end = watchSession(thread, page.from + page.entries.length, {
        line: showLine,
        entries: grow,
        passing,
        connected,
        refused,
      });
    } catch (error) {
      if (!closed) root.replaceChildren(failure(error, begin));
    }
  }

  function grow({ entries: more, from }) {
    const atEnd = root.scrollHeight - root.scrollTop - root.clientHeight < 120;
    root.querySelector(".nothing")?.remove();
    entries.append(more, from);
    now.textContent = "";
    if (more.some(({ kind }) => kind === "tool-result")) files.changed();
    showEarlierCount();
    if (atEnd) root.scrollTop = root.scrollHeight;
  }

  function passing({ kind, text }) {
    if (kind === "step") now.textContent = text;
    else entries.say(kind, text);
  }

  function showLine(line) {
    if (!line) return;
    title(titleOf(line));
    // A button that is about to be pressed stays where it is.
    if (JSON.stringify(line) === offered) return;
    if (offered) changed();
    offered = JSON.stringify(line);
    const [platform, , , id] = thread.split(":");
    const conversation =
      platform === "local"
        ? element("a", { class: "action", href: `#/t/${id}` }, "Open the conversation")
        : element("span", { class: "soft" }, `Read only here: people write in ${platform}.`);
    const button = actionFor(line, note);
    head.replaceChildren(
      chip(...stateOf(line)),
      element("span", { class: "soft", title: thread }, placeOf(line)),
      ...(line.cost === undefined ? [] : [element("span", { class: "soft" }, formatCost(line.cost))]),
      element("span", { class: "push" }),
      conversation,
      ...(button ? [button] : []),
    );
    if (line.state === "idle") now.textContent = "";
  }

  function showEarlierCount() {
    earlier.hidden = entries.first === 0;
    earlier.textContent = `Show earlier records (${counted(entries.first, "more", "more")})`;
  }

  async function showEarlier() {
    earlier.disabled = true;
    try {
      const page = await sessionTimeline(thread, entries.first);
      const height = root.scrollHeight;
      entries.prepend(page.entries, page.from);
      showEarlierCount();
      // What was in view stays in view.
      root.scrollTop += root.scrollHeight - height;
    } catch (error) {
      note(error.message);
    }
    earlier.disabled = false;
  }

  return () => {
    closed = true;
    files.open(null);
    end();
  };
}
