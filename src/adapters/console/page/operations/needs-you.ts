/** All that waits for a person, on every platform, in one list: to decide, answer, continue or stop. */
import type { IntakeResult } from "../../../../chat/inbound.ts";
import type { QuestionLine } from "../../../../operations/operations.ts";
import type { Need } from "../../api/question-routes.ts";
import { sessionAddress } from "../addresses.ts";
import { continueSession, decideQuestion, getNeeds, type QuestionDecision, stopSession } from "../api.ts";
import { messageOf } from "../transport.ts";
import { askFor } from "../conversation/ask.ts";
import { element, icon, timeElement } from "../dom.ts";
import { renderMarkdown, renderPlain } from "../markdown/render.ts";
import { followNeeds, notifies, setNotifies } from "../needs.ts";
import { mayWorkIn } from "../person.ts";
import type { State } from "../states.ts";
import { showOutcome, showToast } from "../toast.ts";
import { namePlatform, placeOf, titleOf } from "./thread-words.ts";
import { chip, emptyNote, failure } from "./report.ts";

/** After an item has gone the next one has the focus: a key that was meant for the first does nothing to it, ms. */
const quietMs = 800;

const nothing = "Nothing waits for you. Questions, approvals and paused work of every thread appear here.";

/** Shows the page in `root`; returns what ends it. */
export function openNeeds(root: HTMLElement): () => void {
  let closed = false;
  let quietUntil = 0;
  /** The number of the last request, and of the last one that was answered. */
  let [asked, answered] = [0, 0];
  const rows = new Map<string, Row>();
  const count = element("p", { class: "count", role: "status" });
  const list = element("ol", { class: "needs" });
  const body = element("div", {}, emptyNote("Loading…"));
  root.replaceChildren(element("div", { class: "tools" }, notifyButton(), count), body);
  const end = followNeeds(() => void load());
  void load();

  async function load(): Promise<void> {
    const number = ++asked;
    try {
      const needs = await getNeeds();
      // What is answered late is of earlier.
      if (number < answered) return;
      answered = number;
      show(needs);
    } catch (error) {
      if (!closed) body.replaceChildren(failure(error, load));
    }
  }

  function show(needs: Need[]): void {
    if (closed) return;
    const focused = [...rows.values()].findIndex(({ item }) => item.contains(document.activeElement));
    const hadFocus = [...rows.keys()][focused];
    showRows(needs);
    count.textContent = needs.length === 1 ? "1 item waits" : `${needs.length} items wait`;
    if (needs.length === 0) body.replaceChildren(emptyNote(nothing));
    else if (body.firstElementChild !== list) body.replaceChildren(list);
    if (hadFocus === undefined || rows.has(hadFocus)) return;
    quietUntil = performance.now() + quietMs;
    const next = list.children[Math.min(focused, list.children.length - 1)];
    (next?.querySelector<HTMLElement>(".title") ?? root).focus();
  }

  function showRows(needs: Need[]): void {
    const kept = new Set(needs.map(({ id }) => id));
    for (const [id, { item }] of rows) {
      if (kept.has(id)) continue;
      item.remove();
      rows.delete(id);
    }
    for (const [index, need] of needs.entries()) {
      const row = rows.get(need.id) ?? needRow(need, () => void load());
      rows.set(need.id, row);
      if (list.children[index] !== row.item) list.insertBefore(row.item, list.children[index] ?? null);
    }
  }

  function onKey(event: KeyboardEvent): void {
    const { target } = event;
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat;
    if (!isPlain || event.defaultPrevented || performance.now() < quietUntil) return;
    if (document.querySelector("dialog[open]") || !(target instanceof HTMLElement)) return;
    const row = [...rows.values()].find(({ item }) => item.contains(target));
    const button = row?.keys.get(event.key);
    if (!button || button.disabled) return;
    event.preventDefault();
    button.click();
  }

  root.addEventListener("keydown", onKey);
  return () => {
    closed = true;
    end();
    root.removeEventListener("keydown", onKey);
  };
}

interface Row {
  item: HTMLElement;
  /** The buttons by the keys that press them. */
  keys: Map<string, HTMLButtonElement>;
}

const kinds: Record<QuestionLine["kind"] | "paused", State> = {
  approval: ["question", "Approval"],
  account: ["question", "Account"],
  input: ["question", "Question"],
  choice: ["question", "Question"],
  paused: ["paused", "Paused"],
};

/** What is asked does not change while it is asked. */
function needRow(need: Need, onDone: () => void): Row {
  const { line, question, boundTo } = need;
  const keys = new Map<string, HTMLButtonElement>();
  const buttons: HTMLButtonElement[] = [];
  const add = (label: string, style: string, act: () => Promise<IntakeResult | null>, key?: string) => {
    const onclick = async () => {
      for (const button of buttons) button.disabled = true;
      try {
        const outcome = await act();
        if (outcome) {
          showOutcome(outcome);
          onDone();
        } else showToast("");
      } catch (error) {
        showToast(messageOf(error));
      }
      for (const button of buttons) button.disabled = false;
    };
    const attributes = { type: "button", class: style, onclick, "aria-label": `${label}: ${titleOf(line)}` };
    const button = element("button", attributes, ...(style === "stop" ? [icon("stop")] : []), label);
    if (key !== undefined) {
      keys.set(key, button);
      button.setAttribute("aria-keyshortcuts", key);
    }
    buttons.push(button);
  };
  const isMine = mayWorkIn(line.thread);
  if (!question) {
    if (isMine) add("Continue", "action primary", () => continueSession(line.thread), "c");
  } else if (isMine && boundTo === undefined) addDecisions(question, add);
  if (isMine && line.state !== "idle") add("Stop", "stop", () => stopSession(line.thread));

  const title = element("a", { class: "title", href: sessionAddress(line.thread) }, titleOf(line));
  const head = element(
    "header",
    {},
    chip(...kinds[question?.kind ?? "paused"]),
    title,
    element("span", { class: "soft" }, placeOf(line)),
  );
  const item = element(
    "li",
    {},
    head,
    ...describeNeed(need),
    ...(buttons.length > 0 ? [element("div", { class: "actions" }, ...buttons)] : []),
    element("p", { class: "soft" }, ...timesOf(need)),
  );
  return { item, keys };
}

/** The same buttons as the question has where it was asked. */
function addDecisions(
  question: QuestionLine,
  add: (label: string, style: string, act: () => Promise<IntakeResult | null>, key?: string) => void,
): void {
  const { id, thread, kind, choices, forThread } = question;
  const decide = (decision: QuestionDecision) => decideQuestion(thread, id, decision);
  if (kind === "approval") {
    add("Approve", "action primary", () => decide({ decision: "approve" }), "y");
    if (forThread.length > 0)
      add("Approve for this thread", "action", () => decide({ decision: "approve", forThread: true }));
    add("Deny", "action", () => decide({ decision: "deny" }), "x");
    add("Deny with a reason…", "action", () =>
      askFor("Why not? The agent reads it.", "Deny", (reason) => decide({ decision: "deny", reason })),
    );
    return;
  }
  for (const [choice, label] of choices.entries())
    add(label, "action", () => decide({ decision: "answer", choice }), String(choice + 1));
  const answer = async (text: string) => (text.trim() ? decide({ decision: "answer", text }) : null);
  add(choices.length > 0 ? "Another answer…" : "Answer…", "action", () =>
    askFor("Your answer", "Answer", answer, describeAsked(question)),
  );
}

function describeNeed({ line, question, boundTo }: Need): HTMLElement[] {
  if (!question)
    return [
      element("p", {}, `Its work was paused at the limit of ${line.limit ?? "its turn"}. Nothing is lost.`),
    ];
  const { call, note, forThread, platform } = question;
  const where = platform === "local" ? "in its thread" : `in ${namePlatform(platform)}`;
  return [
    ...describeAsked(question),
    ...(call ? [element("pre", { tabindex: "0", "aria-label": "The call" }, call)] : []),
    ...(note ? [element("p", { class: "soft" }, note)] : []),
    ...(forThread.length > 0 ? [describeForThread(forThread)] : []),
    ...(boundTo === undefined
      ? []
      : [
          element(
            "p",
            { class: "bound" },
            `Only ${boundTo} can answer this, ${where}.${mayWorkIn(line.thread) ? " You can stop the work." : ""}`,
          ),
        ]),
  ];
}

/** As its message in the thread: what the agent and the operator write is Markdown, a server's own words are as they are. */
function describeAsked({ kind, tool, text }: QuestionLine): HTMLElement[] {
  switch (kind) {
    case "approval": {
      const head = element("p", {}, "May ", element("code", {}, tool), " run?");
      return text ? [head, element("div", { class: "body" }, ...renderMarkdown(text))] : [head];
    }
    case "choice":
      return [element("div", { class: "body" }, ...renderMarkdown(text))];
    case "input":
    case "account":
      return [element("p", { class: "plain" }, ...renderPlain(text))];
  }
}

function describeForThread(rules: readonly string[]): HTMLElement {
  const named = rules.flatMap((rule, index) => [index > 0 ? " and " : "", element("code", {}, rule)]);
  const after = ` ${rules.length === 1 ? "runs" : "run"} there without asking.`;
  return element("p", { class: "soft" }, "Approve for this thread: from now on, ", ...named, after);
}

function timesOf({ line, question }: Need): (Node | string)[] {
  if (!question) return ["Paused since ", timeElement(line.activeAt)];
  return [
    `Task of ${question.requester} · asked `,
    timeElement(question.since),
    " · open until ",
    timeElement(question.until),
  ];
}

function notifyButton(): HTMLElement {
  const button = element("button", {
    ...{ type: "button", class: "action", "aria-pressed": String(notifies()) },
    async onclick() {
      const problem = await setNotifies(!notifies());
      showToast(problem);
      show();
    },
  });
  const show = () => {
    button.setAttribute("aria-pressed", String(notifies()));
    button.textContent = notifies() ? "Notifications are on" : "Notify me in this browser";
  };
  show();
  return button;
}
