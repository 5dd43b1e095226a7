import type { InputField } from "../../src/agent/server-input.ts";
import type { Form } from "../../src/chat/outbound.ts";

const titles = ["Red", "Blue", "G".repeat(120)];

/** An input of each kind, with all that a server may say of it. */
const allKinds: InputField[] = [
  {
    name: "subject",
    title: "Subject",
    kind: "text",
    required: true,
    most: 20,
    default: "plans",
    about: "A".repeat(200),
  },
  { name: "count", title: "C".repeat(60), kind: "integer", required: true, least: 1, default: "2" },
  { name: "urgent", title: "Urgent", kind: "yes-no", required: false, default: "yes" },
  {
    ...{ name: "colour", title: "Colour", kind: "one", required: true },
    options: titles.map((title) => ({ value: title.toLowerCase().repeat(3), title })),
  },
  {
    ...{
      name: "more",
      title: "More",
      kind: "many",
      required: false,
      least: 2,
      most: 9,
      default: "Red, Blue",
    },
    options: titles.map((title) => ({ value: title.toLowerCase(), title })),
  },
];

export const wholeForm: Form = { title: `${"notes".repeat(12)} asks`, fields: allKinds };

/** A server suggests more than it takes. */
export const shortForm: Form = {
  title: "notes asks",
  fields: [
    { name: "subject", title: "Subject", kind: "text", required: true, most: 5, default: "plans for May" },
  ],
};

/** The button that such a form belongs to. */
export const answerButton = (inputs: number) =>
  ({ id: "input:q1:text", label: "Answer…", style: "primary", asksFor: "A line for each", inputs }) as const;
