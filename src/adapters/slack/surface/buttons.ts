import type { types } from "@slack/bolt";
import type { ActionButton, OutboundMessage } from "../../../chat/outbound.ts";

/** The action of the Stop button. */
export const stopAction = "heddle_stop";

/** The action of Slack's own feedback buttons; which one was pressed is in the value. */
export const rateAction = "heddle_rate";

/** The actions of the buttons that a message offers: those that act at once, and those that ask first. */
export const actNow = /^heddle_act:/;
export const askFirst = /^heddle_ask:/;

/** Slack's limit is 75. https://docs.slack.dev/reference/block-kit/block-elements/button-element */
const labelChars = 75;

/** The buttons of a message in one row; none without buttons. */
export function buttonRow({
  stoppable = false,
  actions = [],
}: Pick<OutboundMessage, "stoppable" | "actions">): types.ActionsBlock[] {
  const elements = actions.map(button);
  if (stoppable) {
    const text = { type: "plain_text", text: "Stop" } as const;
    elements.push({ type: "button", action_id: stopAction, style: "danger", text });
  }
  return elements.length === 0 ? [] : [{ type: "actions", elements }];
}

/**
 * Slack's own way to ask how good an answer is, with other buttons below; none for messages that do not ask it.
 * https://docs.slack.dev/reference/block-kit/blocks/context-actions-block
 */
export function feedbackRow({
  stoppable = false,
  actions = [],
}: Pick<OutboundMessage, "stoppable" | "actions">): (types.ContextActionsBlock | types.ActionsBlock)[] {
  const [good, bad, ...others] = actions;
  if (stoppable || good?.rates !== "good" || bad?.rates !== "bad") return [];
  const choice = ({ id, label }: ActionButton, meaning: string) => {
    const text = { type: "plain_text", text: label.slice(0, labelChars) } as const;
    return { text, value: id, accessibility_label: meaning };
  };
  return [
    {
      type: "context_actions",
      elements: [
        {
          type: "feedback_buttons",
          action_id: rateAction,
          positive_button: choice(good, "This answer helped"),
          negative_button: choice(bad, "This answer did not help"),
        },
      ],
    },
    ...buttonRow({ actions: others }),
  ];
}

function button({ id, label, style, inputs, asksFor: sentence }: ActionButton): types.Button {
  // What has inputs is asked for when it is pressed.
  const asksFor = inputs === undefined ? sentence : undefined;
  return {
    type: "button",
    action_id: asksFor === undefined ? `heddle_act:${id}` : `heddle_ask:${id}`,
    text: { type: "plain_text", text: label.slice(0, labelChars) },
    ...(style !== "plain" && { style }),
    // The question comes back with the press, so that no process has to remember it.
    ...(asksFor !== undefined && { value: asksFor.slice(0, 2_000) }),
  };
}

/** The id of a button as its message has offered it. */
export function readOfferedAction(action: string): string {
  return action.slice(action.indexOf(":") + 1);
}
