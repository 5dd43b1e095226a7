import type { types } from "@slack/bolt";
import { z } from "zod";

/** The modals that Heddle opens in Slack; each asks for one text. https://docs.slack.dev/surfaces/modals */

/** Asks for the sentence that belongs to a button. */
export const sentenceModal = "heddle_sentence";
/** Asks what to do about a message. */
export const aboutModal = "heddle_about";

const titleChars = 24;
/** The longest text of one input. */
const inputChars = 3_000;

const input = "text";

/** Where a button was pressed, kept in its modal. */
export const pressSchema = z.object({
  channel: z.string(),
  thread: z.string(),
  message: z.string(),
  action: z.string(),
});

export type PressState = z.infer<typeof pressSchema>;

/** The message that somebody points at, kept in its modal. */
export const pointSchema = z.object({ channel: z.string(), message: z.string() });

/** A modal with one field; `remembers` comes back with what the person writes, at most 3,000 characters of JSON. */
function createModal(
  kind: string,
  wording: { title: string; label: string; submit: string },
  remembers: object,
  optional = false,
): types.ModalView {
  const plain = (text: string, max: number) => ({ type: "plain_text", text: text.slice(0, max) }) as const;
  return {
    type: "modal",
    callback_id: kind,
    private_metadata: JSON.stringify(remembers),
    title: plain(wording.title, titleChars),
    submit: plain(wording.submit, titleChars),
    close: plain("Cancel", titleChars),
    blocks: [
      {
        type: "input",
        block_id: input,
        label: plain(wording.label, 2_000),
        optional,
        element: { type: "plain_text_input", action_id: input, multiline: true, max_length: inputChars },
      },
    ],
  };
}

/** Asks for the sentence of a button, which counts without it too. */
export function askForSentence(
  button: { label: string; asksFor: string },
  press: PressState,
): types.ModalView {
  const wording = { title: button.label, label: button.asksFor, submit: "Send" };
  return createModal(sentenceModal, wording, press, true);
}

export function askAbout(point: z.infer<typeof pointSchema>): types.ModalView {
  const wording = {
    title: "Ask the agent",
    label: "What should be done with this message?",
    submit: "Ask",
  };
  return createModal(aboutModal, wording, point);
}

const rememberingSchema = z.object({ private_metadata: z.string() });

/** What a modal remembers. */
export function readRemembered<T>(view: unknown, remembers: z.ZodType<T>): T {
  const { private_metadata } = rememberingSchema.parse(view);
  return remembers.parse(JSON.parse(private_metadata));
}

const writtenSchema = z.object({
  state: z.object({
    values: z.object({ [input]: z.object({ [input]: z.object({ value: z.string().nullable() }) }) }),
  }),
});

/** What was written into the one input of a modal. */
export function readText(view: unknown): string {
  return writtenSchema.parse(view).state.values[input][input].value?.trim() ?? "";
}

/** The answer to a submission that shows a sentence in the modal and leaves it open. */
export function problemInModal(
  sentence: string,
  field = input,
): {
  response_action: "errors";
  errors: Record<string, string>;
} {
  return { response_action: "errors", errors: { [field]: sentence } };
}
