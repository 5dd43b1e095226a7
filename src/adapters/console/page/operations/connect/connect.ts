/** The set-up of model, Slack and Discord: what `heddle setup` asks at a terminal, asked here. */
import type { ConsoleSetupStep, SetupRun } from "../../../setup-at-console.ts";
import type { SetupState } from "../../../streams/setup-streams.ts";
import { getStatus } from "../../api.ts";
import { beginSetup, endSetup, watchSetup } from "./setup-requests.ts";
import { messageOf } from "../../transport.ts";
import { copyButton } from "../../copy.ts";
import { type Child, element, redraw } from "../../dom.ts";
import { githubAppPanel } from "../../github-app/panel.ts";
import { isMe } from "../../person.ts";
import { showStatus } from "../../status.ts";
import { showToast } from "../../toast.ts";
import { hearingPanel } from "./hearing.ts";
import { emptyNote, type Frame } from "../report.ts";
import { questionForm } from "./setup-question.ts";

const stepNames: Record<ConsoleSetupStep, string> = { model: "Model", slack: "Slack", discord: "Discord" };
const allSteps: ConsoleSetupStep[] = ["model", "slack", "discord"];

/** A changed model counts a moment after it was stored: so often, and in this distance (ms), is looked. */
const looks = 6;
const lookEveryMs = 2_000;

/** Shows the page in `root`; returns what ends it. */
export function openConnect(root: HTMLElement, frame: Frame): () => void {
  let shown: SetupRun | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const body = element("div", { class: "connect" }, emptyNote("Loading…"));
  const hearing = element("div", { role: "status" });
  root.replaceChildren(body, hearing, githubAppPanel());
  const transcript = element("div", { class: "transcript", role: "log", "aria-label": "Set-up" });
  const asking = element("div", { class: "asking" });
  const controls = element("div", { class: "tools" });

  const close = watchSetup({ ...frame, setup: show });
  return () => {
    close();
    clearTimeout(timer);
  };

  function show({ problem, run, hearing: heard }: SetupState): void {
    redraw(hearing, [heard], () => (heard.length > 0 ? [hearingPanel(heard)] : []));
    if (problem !== undefined) return body.replaceChildren(emptyNote(problem));
    if (!body.contains(controls)) body.replaceChildren(introduction(), transcript, asking, controls);
    const lines = run?.said ?? [];
    redraw(transcript, [lines, run?.copied], () => [...lines.map(lineElement), ...copying(run)]);
    showQuestion(run);
    redraw(controls, [run?.id, run?.ended], () => (run && !run.ended ? [endButton(run)] : beginButtons()));
    if (shown && !shown.ended && run?.ended) {
      controls.scrollIntoView({ block: "nearest" });
      refreshStatus(looks);
    }
    shown = run;
  }

  /** What somebody writes is not drawn anew with each news. */
  function showQuestion(run: SetupRun | undefined): void {
    const hadFocus = body.contains(document.activeElement) || document.activeElement === document.body;
    const isMine = run !== undefined && isMe(run.by.id);
    redraw(asking, [run?.id, run?.question, run?.ended, isMine], () => {
      if (!run || run.ended) return [];
      if (!run.question) return [element("p", { class: "soft", role: "status" }, "Trying it …")];
      if (isMine) return [questionForm(run.id, run.question)];
      return [emptyNote(`${run.by.name} goes through the set-up. Whoever begins it answers.`)];
    });
    // The question that the last answer has led to; nobody is torn away from elsewhere.
    if (!hadFocus || asking.contains(document.activeElement) || !run?.question) return;
    controls.scrollIntoView({ block: "nearest" });
    asking.querySelector<HTMLElement>("input, button")?.focus({ preventScroll: true });
  }

  function refreshStatus(left: number): void {
    void getStatus().then(showStatus, () => {});
    if (left > 1) timer = setTimeout(() => refreshStatus(left - 1), lookEveryMs);
  }
}

function introduction(): HTMLElement {
  return element(
    "p",
    {},
    "Each step tells what works already, tries what you enter at once, and can be left out or repeated. What you paste goes to the service that it is for and into Heddle's ",
    element("code", {}, ".env"),
    ", which only its owner can read; it is not shown again.",
  );
}

function beginButtons(): HTMLElement[] {
  const begin = (label: string, steps: ConsoleSetupStep[], style: string) => {
    const onclick = () => void beginSetup(steps).catch(tellFailure);
    return element("button", { type: "button", class: style, onclick }, label);
  };
  const single = allSteps.map((step) => begin(`Only ${stepNames[step]}`, [step], "action"));
  return [begin("Begin", allSteps, "action primary"), ...single];
}

function endButton({ id }: SetupRun): HTMLElement {
  const onclick = () => void endSetup(id).catch(tellFailure);
  return element("button", { type: "button", class: "action", onclick }, "End the set-up");
}

function tellFailure(error: unknown): void {
  showToast(messageOf(error));
}

function copying(run: SetupRun | undefined): Child[] {
  const { copied } = run ?? {};
  if (copied === undefined || run?.ended) return [];
  const buttons = copyButton("Copy the manifest", () => copied);
  return buttons.length > 0
    ? [element("p", { class: "copying" }, "The manifest, to be pasted: ", ...buttons)]
    : [];
}

const signs: Record<string, string> = { "✓": "works", "✗": "fails", "!": "warns" };

/** A line as a terminal would show it; addresses in it are links. */
function lineElement(line: string): HTMLElement {
  const isTitle = line !== "" && !line.startsWith(" ");
  const style = signs[line.trim().charAt(0)] ?? "";
  return element(isTitle ? "h3" : "p", { class: style }, ...linked(isTitle ? line : line.trimStart()));
}

/** Longer addresses are links by their beginning. */
const shownChars = 70;

function linked(text: string): Child[] {
  return text.split(/(https:\/\/\S+[^\s.,:;)])/).map((part, index) => {
    if (index % 2 === 0) return part;
    const label = part.length > shownChars ? `${part.slice(0, shownChars)}…` : part;
    return element("a", { href: part, target: "_blank", rel: "noopener noreferrer" }, label);
  });
}
