import {
  type APIActionRowComponent,
  type APIButtonComponentWithCustomId,
  type APIModalInteractionResponseCallbackData,
  type APIStringSelectComponent,
  ButtonStyle,
  ComponentType,
  TextInputStyle,
} from "discord.js";
import { cutText } from "../../../agent/text/text.ts";
import type { ActionButton, ChoiceMenu, OutboundMessage } from "../../../chat/outbound.ts";

/**
 * Buttons and forms, and what their ids say. An id has at most 100 characters and is all that comes back with a
 * press, perhaps to another process. https://docs.discord.com/developers/components/reference#custom-id
 */
const idChars = 100;
const titleChars = 45;
const labelChars = 80;
/** Inputs of one form. https://docs.discord.com/developers/components/reference#modal */
export const formInputs = 5;
/** Of one row. */
const rowButtons = 5;

export type ComponentAction =
  | { kind: "stop" }
  | { kind: "act"; action: string }
  /** Something of a menu was chosen: what, comes beside the id. */
  | { kind: "choose" }
  /** The press asks for a sentence first. */
  | { kind: "ask"; action: string; question: string }
  /** A form was sent: the sentence for an action. */
  | { kind: "said"; action: string }
  /** A form with several inputs was sent for an action. */
  | { kind: "filled"; action: string }
  /** The next part of a form is wanted, or was sent, for an action of that message: it is asked for in another one. */
  | { kind: "more" | "rest"; action: string; message: string }
  /** A form was sent: the task that belongs to a message. */
  | { kind: "about"; message: string };

const stopId = "stop";
const menuId = /^menu:\d+$/;

/** What pressing the button with that id, or sending the form with that id, means. */
export function readComponentId(id: string): ComponentAction | undefined {
  if (id === stopId) return { kind: "stop" };
  if (menuId.test(id)) return { kind: "choose" };
  const [, kind, rest = ""] = /^(act|ask|said|filled|more|rest|about):(.*)$/s.exec(id) ?? [];
  switch (kind) {
    case "act":
    case "said":
    case "filled":
      return { kind, action: rest };
    case "more":
    case "rest": {
      const [, message = "", action = ""] = /^(\d+):(.*)$/s.exec(rest) ?? [];
      return { kind, action, message };
    }
    case "ask": {
      const [, length = "", both = ""] = /^(\d+):(.*)$/s.exec(rest) ?? [];
      return { kind, action: both.slice(0, Number(length)), question: both.slice(Number(length)) };
    }
    case "about":
      return { kind, message: rest };
    default:
      return undefined;
  }
}

function pressId({ id, asksFor, inputs }: ActionButton): string {
  // What has inputs asks for them once it is pressed.
  const isAsked = asksFor !== undefined && inputs === undefined;
  return (isAsked ? `ask:${id.length}:${id}${asksFor}` : `act:${id}`).slice(0, idChars);
}

/** The button for the next part of a form, since none can be opened by sending another one. */
export function continueRow(message: string, action: string): Row {
  const button = { type: ComponentType.Button, style: ButtonStyle.Primary, label: "Continue…" } as const;
  return {
    type: ComponentType.ActionRow,
    components: [{ ...button, custom_id: `more:${message}:${action}` }],
  };
}

const styles = {
  plain: ButtonStyle.Secondary,
  primary: ButtonStyle.Primary,
  danger: ButtonStyle.Danger,
} as const;

type Row = APIActionRowComponent<APIButtonComponentWithCustomId>;

/** The rows of buttons of a message; none takes away those that were there. */
export function buttonRows({ actions = [], stoppable = false }: Partial<OutboundMessage>): Row[] {
  const type = ComponentType.Button;
  const buttons: APIButtonComponentWithCustomId[] = actions.map((action) => ({
    type,
    style: styles[action.style],
    label: action.label.slice(0, labelChars),
    custom_id: pressId(action),
  }));
  if (stoppable) buttons.push({ type, style: ButtonStyle.Danger, label: "Stop", custom_id: stopId });
  const rows: Row[] = [];
  for (let at = 0; at < buttons.length; at += rowButtons) {
    rows.push({ type: ComponentType.ActionRow, components: buttons.slice(at, at + rowButtons) });
  }
  return rows;
}

/** Rows of a message. https://docs.discord.com/developers/components/reference#action-row */
const maxRows = 5;
/** https://docs.discord.com/developers/components/reference#string-select */
const menuOptions = 25;
const optionChars = 100;

/** A row for each menu: a menu stands alone in it. */
export function menuRows(menus: readonly ChoiceMenu[]): APIActionRowComponent<APIStringSelectComponent>[] {
  return menus.slice(0, maxRows).map(({ label, options }, index) => ({
    type: ComponentType.ActionRow,
    components: [
      {
        type: ComponentType.StringSelect,
        custom_id: `menu:${index}`,
        placeholder: cutText(label, optionChars),
        options: options
          // A value that was cut would mean something else.
          .filter(({ id }) => id.length <= optionChars)
          .slice(0, menuOptions)
          .map((option) => ({
            value: option.id,
            label: cutText(option.label, optionChars),
            ...(option.about && { description: cutText(option.about, optionChars) }),
          })),
      },
    ],
  }));
}

/** The field of our forms. */
export const fieldId = "text";

/** The form that asks for the sentence of an action, which counts without it too. */
export function sentenceForm(action: string, question: string): APIModalInteractionResponseCallbackData {
  return form(`said:${action}`, question || "Say why", "Your words", false);
}

/**
 * The form that asks what to do with a message of the channel where it is opened. Its id does not name the channel,
 * so that no id can ask for a message that the person may not see.
 */
export function taskForm(message: string): APIModalInteractionResponseCallbackData {
  return form(`about:${message}`, "Ask the agent about this", "What should I do with it?");
}

function form(
  id: string,
  title: string,
  label: string,
  required = true,
): APIModalInteractionResponseCallbackData {
  return {
    custom_id: id,
    title: title.slice(0, titleChars),
    components: [
      {
        type: ComponentType.Label,
        label,
        component: {
          type: ComponentType.TextInput,
          custom_id: fieldId,
          style: TextInputStyle.Paragraph,
          required,
          max_length: 4_000,
        },
      },
    ],
  };
}
