/** The inputs that a press asks for, in a dialog: what does not fit is said at the input, and nothing is sent before. */
import type { InputField, WrittenFields } from "../../../../agent/server-input.ts";
import type { IntakeResult } from "../../../../chat/inbound.ts";
import type { Form } from "../../../../chat/outbound.ts";
import { byId, element } from "../dom.ts";
import { showOutcome } from "../toast.ts";
import { messageOf } from "../transport.ts";
import { createInput, type FormInput } from "./form-inputs.ts";

let shown = new AbortController();

/**
 * Shows the form. It stays open, with what was put in, until the answer is taken or the person puts it away.
 *
 * @param send takes the values; a refusal is shown at the field that it is about
 */
export function fillIn(
  { title, fields }: Form,
  send: (values: WrittenFields) => Promise<IntakeResult>,
): void {
  const dialog = byId("form", HTMLDialogElement);
  const problem = byId("form-problem");
  const button = byId("form-send", HTMLButtonElement);
  const inputs = new Map(fields.map((field, index) => [field.name, drawField(field, index)]));
  byId("form-title").textContent = title;
  byId("form-fields").replaceChildren(...[...inputs.values()].map(({ node }) => node));
  problem.textContent = "";
  button.disabled = false;
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  dialog.querySelector("form")?.addEventListener(
    "submit",
    (event) => {
      event.preventDefault();
      void submit();
    },
    { signal },
  );
  byId("form-cancel").addEventListener("click", () => dialog.close(), { signal });
  dialog.showModal();
  inputs.values().next().value?.input.focus();

  async function submit(): Promise<void> {
    const wrong = [...inputs.values()].filter(({ check }) => !check());
    problem.textContent =
      wrong.length > 0 ? `Please correct: ${wrong.map(({ name }) => name).join(", ")}.` : "";
    wrong[0]?.input.focus();
    if (wrong.length > 0 || button.disabled) return;
    button.disabled = true;
    try {
      const outcome = await send(
        Object.fromEntries(
          [...inputs].flatMap(([name, { input }]) => {
            const value = input.read();
            return value === undefined ? [] : [[name, value]];
          }),
        ),
      );
      if (signal.aborted) return;
      if (outcome.kind === "refused") showRefusal(outcome);
      else {
        dialog.close();
        showOutcome(outcome);
      }
    } catch (error) {
      problem.textContent = messageOf(error);
    }
    button.disabled = false;
  }

  function showRefusal({ reply, field }: Extract<IntakeResult, { kind: "refused" }>): void {
    const about = field === undefined ? undefined : inputs.get(field);
    if (about) about.say(reply);
    problem.textContent = about ? `Please correct: ${about.name}.` : reply;
    about?.input.focus();
  }
}

interface DrawnField {
  node: HTMLElement;
  name: string;
  input: FormInput;
  /** Says at the input what does not fit. @returns whether all does */
  check(): boolean;
  say(problem: string): void;
}

function drawField(field: InputField, index: number): DrawnField {
  const id = `field-${index}`;
  const input = createInput(field, id);
  const problem = element("p", { class: "problem", id: `${id}-problem` });
  const name = [
    element("span", { class: "name" }, field.title),
    ...(field.required ? [] : [element("span", { class: "soft" }, " (may be left out)")]),
  ];
  const about = field.about ? [element("p", { class: "soft", id: `${id}-about` }, field.about)] : [];
  const node = input.group
    ? element("fieldset", { class: "field", role: input.group }, element("legend", {}, ...name))
    : element("div", { class: "field" }, element("label", { for: id }, ...name));
  node.append(...about, input.node, problem);
  const described = [...about.map((each) => each.id), problem.id].join(" ");
  (input.group ? node : input.node).setAttribute("aria-describedby", described);
  // A single radio button is never wrong.
  const judged = input.group === "radiogroup" ? [node] : input.controls;
  const say = (text: string) => {
    problem.textContent = text;
    for (const each of judged) each.setAttribute("aria-invalid", String(text !== ""));
  };
  node.addEventListener("input", () => say(""));
  return {
    ...{ node, name: field.title, input, say },
    check() {
      const text = input.problem();
      say(text);
      return text === "";
    },
  };
}
