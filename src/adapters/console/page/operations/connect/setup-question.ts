/** What the set-up asks, as a form. Nothing that is written into it is kept anywhere in the browser. */
import type { SetupQuestion } from "../../../setup-at-console.ts";
import { answerSetup } from "./setup-requests.ts";
import { messageOf } from "../../transport.ts";
import { element } from "../../dom.ts";
import { limitLength } from "../../limit-length.ts";
import { showToast } from "../../toast.ts";

/** What the server takes: schemas/setup.ts. */
const mostChars = 4_000;

export function questionForm(run: string, question: SetupQuestion): HTMLFormElement {
  const { number } = question;
  const parts = partsOf(question, (value) => void send(value));
  const form = element(
    "form",
    { class: "setup-question", autocomplete: "off", onsubmit: (event) => event.preventDefault() },
    ...parts,
  );
  return form;

  async function send(value: string | boolean): Promise<void> {
    const controls = [...form.querySelectorAll<HTMLInputElement | HTMLButtonElement>("input, button")];
    for (const control of controls) control.disabled = true;
    try {
      await answerSetup({ run, question: number, value });
      showToast("");
    } catch (error) {
      showToast(messageOf(error));
      for (const control of controls) control.disabled = false;
    }
  }
}

function partsOf(question: SetupQuestion, answer: (value: string | boolean) => void): HTMLElement[] {
  const button = (label: string, style: string, act: () => void) =>
    element("button", { type: "button", class: style, onclick: act }, label);
  const asked = element("p", { class: "asked" }, question.text);
  switch (question.kind) {
    case "choice": {
      const choices = question.choices.map(({ value, label }) => {
        const style = value === question.standard ? "action primary" : "action";
        return button(label, style, () => answer(value));
      });
      return [asked, group(question.text, choices)];
    }
    case "confirm":
      return [
        asked,
        group(question.text, [
          button("Yes", "action", () => answer(true)),
          button("No", "action primary", () => answer(false)),
        ]),
      ];
    case "text":
      return field(question.text, { type: "text", value: question.standard }, (input) => answer(input.value));
    case "secret": {
      const take = (input: HTMLInputElement) => {
        const { value } = input;
        // Not when it is sent: a field that still holds it might be offered for keeping.
        input.value = "";
        answer(value);
      };
      const skip = button("Leave it out", "action", () => answer(""));
      return [...field(question.text, { type: "password" }, take), skip];
    }
  }
}

function group(label: string, buttons: HTMLElement[]): HTMLElement {
  return element("div", { class: "actions", role: "group", "aria-label": label }, ...buttons);
}

function field(
  label: string,
  attributes: { type: "text" | "password"; value?: string },
  onEnter: (input: HTMLInputElement) => void,
): HTMLElement[] {
  const input = element("input", {
    ...{ id: "setup-answer", autocomplete: "off", spellcheck: "false" },
    ...attributes,
    onkeydown(event) {
      if (!(event instanceof KeyboardEvent) || event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      enter();
    },
  });
  const enter = () => {
    if (input.reportValidity()) onEnter(input);
  };
  limitLength(input, mostChars);
  return [
    element("label", { for: "setup-answer", class: "asked" }, label),
    input,
    element("button", { type: "button", class: "action primary", onclick: enter }, "Continue"),
  ];
}
