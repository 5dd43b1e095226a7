/** The conversation of one thread. */
import { uploadAddress } from "./api.js";
import { CallList } from "./call-list.js";
import { element, formatBytes, icon, redraw, timeElement } from "./dom.js";
import { renderMarkdown, showMarkdown } from "./render.js";
import { viewFile } from "./viewer.js";

const markWords = {
  taken: "Working on it",
  waiting: "Waiting",
  answered: "Answered",
  stopped: "Stopped",
  failed: "Not done",
};

/** Whether work goes on because of this message, so that it can be stopped. */
function isRunning(message) {
  return message.stoppable === true || message.mark === "taken" || message.mark === "waiting";
}

/**
 * Shows messages in `log`; `onStop` is called when a message's stop button is pressed, `onPress(message, action)`
 * when it is another button.
 */
export class Conversation {
  #log;
  #onStop;
  #onPress;
  #shown = new Map();
  #thread = "";

  constructor(log, onStop, onPress) {
    this.#log = log;
    this.#onStop = onStop;
    this.#onPress = onPress;
  }

  get running() {
    return [...this.#shown.values()].some(({ message }) => isRunning(message));
  }

  /** Shows exactly these messages; what is already there stays in place. */
  replace(thread, messages) {
    if (thread !== this.#thread) this.clear();
    this.#thread = thread;
    const kept = new Set(messages.map(({ id }) => id));
    for (const id of this.#shown.keys()) if (!kept.has(id)) this.remove(id);
    for (const message of messages) this.put(message);
  }

  clear() {
    this.#shown.clear();
    this.#log.replaceChildren();
  }

  put(message) {
    let shown = this.#shown.get(message.id);
    if (!shown) {
      shown = { message, ...messageElement(this.#onStop, this.#onPress) };
      const later = [...this.#shown.values()].find((other) => other.message.place > message.place);
      this.#log.insertBefore(shown.article, later ? later.article : null);
      this.#shown.set(message.id, shown);
      if (later)
        this.#shown = new Map([...this.#shown].toSorted(([, a], [, b]) => a.message.place - b.message.place));
    }
    shown.message = message;
    shown.show(this.#thread, message);
  }

  remove(id) {
    this.#shown.get(id)?.article.remove();
    this.#shown.delete(id);
  }
}

/** The parts stay while their content changes, so that an edit takes neither focus nor place from anybody. */
function messageElement(onStop, onPress) {
  const name = element("span", { class: "name" });
  const time = element("span");
  const mark = element("span", { class: "mark" });
  const head = element("header", {}, name, time, mark);
  const body = element("div", { class: "body" });
  const words = element("div", { class: "part" });
  const calls = new CallList();
  const button = element("button", { type: "button", class: "stop", onclick: onStop }, icon("stop"), "Stop");
  const foot = element("footer", {}, button);
  const print = element("div", { class: "print" });
  const actions = element("div", { class: "actions" });
  const article = element("article", {}, head, body, actions, print, foot);

  const show = (thread, message) => {
    const person = message.kind === "person";
    article.className = `message ${message.kind} ${message.stoppable ? "live" : ""}`;
    const who = person ? message.name : "Heddle";
    redraw(name, who, () => [who]);
    redraw(time, message.at, () => [timeElement(message.at)]);
    if (message.calls) {
      redraw(body, "calls", () => calls.parts);
      calls.show(message.calls);
    } else if (message.markdown !== undefined) {
      redraw(body, "words", () => [words]);
      showMarkdown(words, message.markdown, { signed: message.kind !== "answer" });
    } else {
      const { id, kind, text, files, bytes } = message;
      redraw(body, { thread, id, kind, text, files, bytes }, () => bodyOf(thread, message));
    }
    redraw(actions, message.actions, () =>
      (message.actions ?? []).map((action) => actionButton(action, () => onPress(message, action))),
    );
    actions.hidden = !message.actions;
    redraw(print, message.footer, () => (message.footer ? renderMarkdown(message.footer) : []));
    print.hidden = !message.footer;
    mark.className = `mark ${message.mark ?? ""}`;
    mark.hidden = !message.mark;
    const place = message.ahead ? `, no. ${message.ahead}` : "";
    redraw(mark, [message.mark, place], () =>
      message.mark ? [icon(message.mark), markWords[message.mark] + place] : [],
    );
    // While only a message of a person waits, the box has the button.
    foot.hidden = !message.stoppable;
  };
  return { article, show };
}

function actionButton({ label, style }, onclick) {
  return element("button", { type: "button", class: `action ${style}`, onclick }, label);
}

/** The names of the files that came with a person's message; the workspace has them. */
function sentFiles({ files }) {
  return files.map((name) =>
    element("span", { class: "file-card" }, icon("file"), element("span", {}, name)),
  );
}

/** A file that Heddle has made: to be looked at, and to be saved. */
function fileCard({ name, bytes }, address) {
  const look = { type: "button", class: "file", onclick: () => void viewFile(name, address) };
  const size = element("span", { class: "size" }, formatBytes(bytes));
  const save = { class: "quiet", href: address, download: name, "aria-label": `Save ${name}` };
  return element(
    "span",
    { class: "file-card" },
    element("button", look, icon("file"), element("span", {}, name), size),
    element("a", save, icon("download")),
  );
}

function bodyOf(thread, message) {
  if (message.kind === "file") return [fileCard(message, uploadAddress(thread, message.id))];
  return [
    // As it was written: people do not expect their asterisks to vanish.
    ...(message.text ? [element("p", { class: "plain" }, message.text)] : []),
    ...(message.files?.length ? [element("div", { class: "sent" }, ...sentFiles(message))] : []),
  ];
}
