import {
  type APILabelComponent,
  type APIModalInteractionResponseCallbackData,
  type APIStringSelectComponent,
  type APITextInputComponent,
  ComponentType,
  TextInputStyle,
} from "discord.js";
import {
  describeKind,
  findDefaultOptions,
  findInitialText,
  type InputField,
  listFieldOptions,
} from "../../../agent/server-input.ts";
import { cutText } from "../../../agent/text/text.ts";
import type { Form } from "../../../chat/outbound.ts";

/** https://docs.discord.com/developers/components/reference#label */
const labelChars = 45;
const aboutChars = 100;
/** https://docs.discord.com/developers/components/reference#text-input */
const textChars = 4_000;
/** https://docs.discord.com/developers/components/reference#string-select */
const optionChars = 100;

/**
 * The form with the inputs of an action: at most five, each a text or a list to choose from.
 *
 * @param rest the message with the action's button, where this is not the first part
 */
export function inputForm(
  action: string,
  { title, fields }: Form,
  rest?: string,
): APIModalInteractionResponseCallbackData {
  return {
    custom_id: rest === undefined ? `filled:${action}` : `rest:${rest}:${action}`,
    title: cutText(title, labelChars),
    components: fields.map(toLabel),
  };
}

function toLabel(field: InputField): APILabelComponent {
  const about = field.about || describeKind(field);
  return {
    type: ComponentType.Label,
    label: cutText(field.title, labelChars),
    description: cutText(about, aboutChars),
    component: listFieldOptions(field).length > 0 ? toSelect(field) : toTextInput(field),
  };
}

function toTextInput(field: InputField): APITextInputComponent {
  const { name, kind, required } = field;
  const most = kind === "text" ? Math.max(1, Math.floor(Math.min(field.most ?? textChars, textChars))) : 100;
  const initial = findInitialText(field, most);
  return {
    type: ComponentType.TextInput,
    custom_id: name,
    style: most > 100 ? TextInputStyle.Paragraph : TextInputStyle.Short,
    required,
    max_length: most,
    ...(initial !== undefined && { value: initial }),
  };
}

function toSelect(field: InputField): APIStringSelectComponent {
  const { name, kind, required, least = 0, most = Infinity } = field;
  const options = listFieldOptions(field);
  const chosen = findDefaultOptions(field);
  // A server may ask for more than there is; intake says then what it expects.
  const mostChosen = kind === "many" ? Math.max(1, Math.floor(Math.min(most, options.length))) : 1;
  const leastChosen = required ? Math.max(1, kind === "many" ? Math.ceil(least) : 1) : 0;
  return {
    type: ComponentType.StringSelect,
    custom_id: name,
    required,
    min_values: Math.min(leastChosen, mostChosen),
    max_values: mostChosen,
    options: options.map((option, index) => ({
      label: cutText(option.title, optionChars),
      value: String(index),
      ...(chosen.includes(index) && { default: true }),
    })),
  };
}
