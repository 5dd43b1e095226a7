/** What can be done with a thread of the list, and the buttons for it. */
import type { ThreadLine } from "../../../../operations/finding.ts";
import { continueSession, stopSession } from "../api.ts";
import { messageOf } from "../transport.ts";
import { element, icon } from "../dom.ts";
import { mayWorkIn } from "../person.ts";
import { showOutcome, showToast } from "../toast.ts";
import { titleOf } from "./thread-words.ts";

/** What can be done with the thread in its state. */
export function actionOf({ thread, state, ended }: ThreadLine): "stop" | "continue" | null {
  if (!mayWorkIn(thread)) return null;
  if (state !== "idle") return "stop";
  return ended === "paused" ? "continue" : null;
}

/** The button for that, if any. */
export function actionButtons(line: ThreadLine): HTMLElement[] {
  const action = actionOf(line);
  if (action === null) return [];
  const [word, request] =
    action === "stop" ? (["Stop", stopSession] as const) : (["Continue", continueSession] as const);
  const onclick = async () => {
    button.disabled = true;
    try {
      showOutcome(await request(line.thread));
    } catch (error) {
      showToast(messageOf(error));
    }
    button.disabled = false;
  };
  const attributes = {
    ...{ type: "button", class: action === "stop" ? "stop" : "action", onclick },
    "aria-label": `${word}: ${titleOf(line)}`,
  };
  const button = element("button", attributes, ...(action === "stop" ? [icon("stop")] : []), word);
  return [button];
}
