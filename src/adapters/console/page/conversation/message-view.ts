/** A message of a conversation with all its parts. */
import type { ActionButton } from "../../../../chat/outbound.ts";
import type { ConsoleMessage, ShownFile } from "../../conversations/console-message.ts";
import { messageAddress, wholeThread } from "../addresses.ts";
import { thumbnailAddress, uploadAddress } from "../api.ts";
import { copyButton, linkButton } from "../copy.ts";
import { element, formatBytes, icon, type IconName, redraw, timeElement } from "../dom.ts";
import { renderPlain, showMarkdown } from "../markdown/render.ts";
import { viewFile } from "../viewer/viewer.ts";
import { CallList } from "./call-list.ts";

const markWords = {
  question: "Waiting for your answer",
  taken: "Working on it",
  waiting: "Waiting",
  answered: "Answered",
  stopped: "Stopped",
  failed: "Failed",
  paused: "Paused",
};

/** Whether work goes on because of this message, so that it can be stopped. */
export function isRunning(message: ConsoleMessage): boolean {
  return isStoppable(message) || message.mark === "taken" || message.mark === "waiting";
}

function isStoppable(message: ConsoleMessage): boolean {
  return "stoppable" in message && message.stoppable;
}

/** Its turn waits until somebody has decided. */
export function isOpenQuestion(message: ConsoleMessage): boolean {
  return message.kind === "question" && isStoppable(message);
}

/** What people do with a message. */
export interface MessageHandlers {
  stop(): void;
  /** Presses a button that the message offers. */
  press(message: ConsoleMessage, action: ActionButton): void;
  /** Sends the text of the last message again. */
  retry(text: string): void;
  /** Puts the text of the last message into the box. */
  edit(text: string): void;
}

/** The parts stay while their content changes, so that an edit takes neither focus nor place from anybody. */
export function messageView(article: HTMLElement, { stop, press, retry, edit }: MessageHandlers) {
  // From message to message by the keys of a screen reader; headings in a text stand below it.
  const name = element("span", { class: "name", role: "heading", "aria-level": 3 });
  const time = element("span");
  const mark = element("span", { class: "mark" });
  const tools = element("span", { class: "message-tools" });
  const head = element("header", {}, name, time, mark, tools);
  const body = element("div", { class: "body" });
  const words = element("div", { class: "part" });
  const calls = new CallList();
  const button = element("button", { type: "button", class: "stop", onclick: stop }, icon("stop"), "Stop");
  const foot = element("footer", {}, button);
  const print = element("div", { class: "print" });
  const actions = element("div", { class: "actions" });

  const show = (thread: string, message: ConsoleMessage, asks: boolean) => {
    article.className = classOf(message);
    const who = nameOf(message);
    redraw(name, who, () => [who]);
    redraw(time, message.at, () => [timeElement(message.at)]);
    if (message.kind === "person")
      redraw(body, [message.text, message.files], () => renderBody(thread, message));
    else if (message.kind === "file") {
      redraw(body, [thread, message.id], () => [fileCard(thread, message)]);
    } else if (message.calls) {
      redraw(body, "calls", () => calls.parts);
      calls.show(wholeThread(thread), message.calls);
    } else {
      const { shown } = message;
      redraw(body, ["words", thread, shown?.id], () => [words, ...(shown ? [fileCard(thread, shown)] : [])]);
      showMarkdown(words, message.markdown, { signed: message.kind !== "answer" });
    }
    const written = textOf(message);
    redraw(tools, [thread, message.id, message.kind, written], () => [
      ...(message.kind === "person" && written ? resendButtons(written, { retry, edit }) : []),
      ...(written
        ? copyButton(message.kind === "answer" ? "Copy answer" : "Copy message", () => written)
        : []),
      linkButton("Copy the link to this message", messageAddress(thread, message.id)),
    ]);
    const offered = listOffers(message);
    redraw(actions, offered, () =>
      offered.map((one) =>
        actionButton(one, () => (one.says === undefined ? press(message, one) : retry(one.says))),
      ),
    );
    actions.className = message.kind === "person" ? "actions resend" : "actions";
    actions.hidden = offered.length === 0;
    const footer = "footer" in message ? message.footer : undefined;
    redraw(print, footer, () => (footer ? [element("p", {}, footer)] : []));
    print.hidden = !footer;
    const own = message.paused ? "paused" : message.mark;
    const state = asks && isRunning(message) && own ? "question" : own;
    mark.className = `mark ${state ?? ""}`;
    mark.hidden = !state;
    const place = message.ahead ? `, no. ${message.ahead}` : "";
    redraw(mark, [state, place], () => (state ? [icon(state), markWords[state] + place] : []));
    // While only a message of a person waits, the box has the button.
    // While it asks the question has it, and one more would say that something else is stopped by it.
    foot.hidden = !isStoppable(message) || (asks && message.kind !== "question");
  };
  return { parts: [head, body, actions, print, foot], show };
}

export function classOf(message: ConsoleMessage): string {
  return `message ${message.kind} ${isStoppable(message) ? "live" : ""}`;
}

/** Who has said it. */
export function nameOf(message: ConsoleMessage): string {
  return message.kind === "person" ? message.name : "Heddle";
}

/** What there is to copy: an answer as Markdown, and what a person wrote. */
function textOf(message: ConsoleMessage): string {
  if (message.kind === "person") return message.text;
  return message.kind === "answer" ? message.markdown : "";
}

/** For the last message of a person; conversation.css hides those of all others. */
function resendButtons(
  text: string,
  { retry, edit }: Pick<MessageHandlers, "retry" | "edit">,
): HTMLElement[] {
  const button = (label: string, sign: IconName, act: (text: string) => void) => {
    const attributes = { type: "button", class: "quiet resend", "aria-label": label, title: label };
    return element("button", { ...attributes, onclick: () => act(text) }, icon(sign));
  };
  return [button("Send again", "refresh", retry), button("Edit and send again", "edit", edit)];
}

/** What is pressed below a message; `says`: a button that says this as a message of its own. */
function listOffers(message: ConsoleMessage): (ActionButton & { says?: string })[] {
  if (message.kind !== "person") return ("actions" in message && message.actions) || [];
  // Whoever has stopped it by mistake lets it go on.
  return message.mark === "stopped"
    ? [{ id: "continue", label: "Continue", style: "primary", says: "Continue." }]
    : [];
}

function actionButton({ label, style }: ActionButton, onclick: () => void): HTMLElement {
  return element("button", { type: "button", class: `action ${style}`, onclick }, label);
}

/** A file that Heddle has made: to view and to save. */
function fileCard(thread: string, { id, name, bytes }: ShownFile): HTMLElement {
  const address = uploadAddress(thread, id);
  const look = { type: "button", class: "file", onclick: () => viewFile({ path: name, address }) };
  const size = element("span", { class: "size" }, formatBytes(bytes));
  const save = { class: "quiet", href: address, download: name, "aria-label": `Save ${name}` };
  return element(
    "span",
    { class: "file-card" },
    element("button", look, ...thumbnail(name, address), icon("file"), element("span", {}, name), size),
    element("a", save, icon("download")),
  );
}

const pictureName = /\.(png|jpe?g|gif|webp|svg)$/i;

/** Of a picture by its name; it goes where the server finds none in the file. */
function thumbnail(name: string, address: string): HTMLElement[] {
  return pictureName.test(name) ? [picture(`${address}?preview=1`)] : [];
}

function picture(src: string): HTMLElement {
  const attributes = { class: "thumbnail", src, alt: "", loading: "lazy" };
  const shown: HTMLElement = element("img", { ...attributes, onerror: () => shown.remove() });
  return shown;
}

/** `files`: the names of those that came with it; the workspace has them. `pictures`: what is kept of these to be shown. */
function renderBody(
  thread: string,
  { text, files = [], pictures = [] }: { text: string; files?: string[]; pictures?: (string | null)[] },
): HTMLElement[] {
  const cards = files.map((name, index) => {
    const upload = pictures[index];
    const shown = upload ? [picture(thumbnailAddress(thread, upload))] : [];
    return element("span", { class: "file-card" }, ...shown, icon("file"), element("span", {}, name));
  });
  return [
    // As it was written: people do not expect their asterisks to vanish.
    ...(text ? [element("p", { class: "plain" }, ...renderPlain(text))] : []),
    ...(cards.length > 0 ? [element("div", { class: "sent" }, ...cards)] : []),
  ];
}
