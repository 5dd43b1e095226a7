import type { types } from "@slack/bolt";
import { z } from "zod";
import {
  describeKind,
  findDefaultOptions,
  findInitialText,
  type InputField,
  listFieldOptions,
  type WrittenFields,
} from "../../../agent/server-input.ts";
import { cutText } from "../../../agent/text/text.ts";
import type { Form } from "../../../chat/outbound.ts";
import type { PressState } from "./modals.ts";

/** Asks for the inputs of a button. https://docs.slack.dev/reference/block-kit/blocks/input-block */
export const formModal = "heddle_form";

const titleChars = 24;
const labelChars = 2_000;
/** https://docs.slack.dev/reference/block-kit/composition-objects/option-object */
const optionChars = 75;
/** https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element */
const textChars = 3_000;

/** The action of each input; its block has the field's name. */
const input = "input";

const plain = (text: string, max: number) => ({ type: "plain_text", text: cutText(text, max) }) as const;

/** @param press comes back with what the person puts in */
export function createFormModal({ title, fields }: Form, press: PressState): types.ModalView {
  return {
    type: "modal",
    callback_id: formModal,
    private_metadata: JSON.stringify(press),
    title: plain(title, titleChars),
    submit: plain("Send", titleChars),
    close: plain("Cancel", titleChars),
    blocks: fields.map((field) => ({
      type: "input",
      block_id: field.name,
      label: plain(field.title, labelChars),
      hint: plain(field.about || describeKind(field), labelChars),
      optional: !field.required,
      element: toElement(field),
    })),
  };
}

function toElement(field: InputField): types.InputBlock["element"] {
  const options = listFieldOptions(field).map(({ title }, index) => ({
    text: plain(title, optionChars),
    value: String(index),
  }));
  const chosen = findDefaultOptions(field).flatMap((index) => options[index] ?? []);
  const [first] = chosen;
  switch (field.kind) {
    case "text": {
      const most = Math.max(1, Math.floor(Math.min(field.most ?? textChars, textChars)));
      const initial = findInitialText(field, most);
      return {
        type: "plain_text_input",
        action_id: input,
        multiline: most > 100,
        max_length: most,
        ...(initial !== undefined && { initial_value: initial }),
      };
    }
    case "number":
    case "integer":
      return {
        type: "number_input",
        action_id: input,
        is_decimal_allowed: field.kind === "number",
        ...(field.default && { initial_value: field.default }),
      };
    case "many":
      return {
        type: "multi_static_select",
        action_id: input,
        options,
        ...(chosen.length > 0 && { initial_options: chosen }),
      };
    case "one":
    case "yes-no":
      return { type: "static_select", action_id: input, options, ...(first && { initial_option: first }) };
  }
}

const optionSchema = z.object({ value: z.string() });

const statesSchema = z.record(
  z.string(),
  z.object({
    [input]: z.object({
      value: z.string().nullish(),
      selected_option: optionSchema.nullish(),
      selected_options: z.array(optionSchema).nullish(),
    }),
  }),
);

const submissionSchema = z.object({ state: z.object({ values: statesSchema }) });

/** What was put into the inputs of a form. */
export function readForm(view: unknown): WrittenFields {
  const { state } = submissionSchema.parse(view);
  return Object.fromEntries(
    Object.entries(state.values).map(([name, { [input]: put }]) => {
      const chosen = put.selected_options ?? (put.selected_option ? [put.selected_option] : undefined);
      return [name, chosen?.map(({ value }) => Number(value)) ?? put.value ?? ""];
    }),
  );
}
