/** The conversation of one thread. */
import { uploadAddress } from "./api.js";
import { element, formatBytes, icon, timeElement } from "./dom.js";
import { renderMarkdown } from "./render.js";

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
  const head = element("header", {}, name);
  const body = element("div", { class: "body" });
  const mark = element("span", { class: "mark" });
  const button = element("button", { type: "button", class: "stop", onclick: onStop }, icon("stop"), "Stop");
  const foot = element("footer", {}, mark, button);
  const print = element("div", { class: "print" });
  const actions = element("div", { class: "actions" });
  const article = element("article", {}, head, body, actions, print, foot);
  let offered = "";

  const show = (thread, message) => {
    const person = message.kind === "person";
    article.className = `message ${message.kind} ${message.stoppable ? "live" : ""}`;
    name.textContent = person ? message.name : "Heddle";
    head.replaceChildren(name, timeElement(message.at));
    body.replaceChildren(...bodyOf(thread, message));
    // Only when they change: an edit of the text must not take a button from under a finger.
    if (JSON.stringify(message.actions) !== offered) {
      offered = JSON.stringify(message.actions);
      const buttons = (message.actions ?? []).map((action) =>
        actionButton(action, () => onPress(message, action)),
      );
      actions.replaceChildren(...buttons);
    }
    actions.hidden = !message.actions;
    print.replaceChildren(...(message.footer ? renderMarkdown(message.footer) : []));
    print.hidden = !message.footer;
    mark.className = `mark ${message.mark}`;
    mark.hidden = !message.mark;
    mark.replaceChildren(...(message.mark ? [icon(message.mark), markWords[message.mark]] : []));
    button.hidden = !isRunning(message);
    foot.hidden = mark.hidden && button.hidden;
  };
  return { article, show };
}

function actionButton({ label, style }, onclick) {
  return element("button", { type: "button", class: `action ${style}`, onclick }, label);
}

/** The names of the files that came with a person's message; the workspace has them. */
function sentFiles({ files = [] }) {
  return files.map((name) =>
    element("span", { class: "file-card" }, icon("file"), element("span", {}, name)),
  );
}

function bodyOf(thread, message) {
  switch (message.kind) {
    case "person":
      // As it was written: people do not expect their asterisks to vanish.
      return [element("p", { class: "plain" }, message.text), ...sentFiles(message)];
    case "file": {
      const attributes = {
        class: "file-card",
        href: uploadAddress(thread, message.id),
        download: message.name,
      };
      const size = element("span", { class: "size" }, formatBytes(message.bytes));
      return [
        element("a", attributes, icon("file"), element("span", {}, message.name), size, icon("download")),
      ];
    }
    default:
      return renderMarkdown(message.markdown);
  }
}
