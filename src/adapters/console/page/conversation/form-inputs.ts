/** An input for each kind of field of a form. The browser judges what is written into it; the server does so again. */
import type { InputField, WrittenFields } from "../../../../agent/server-input.ts";
import { element } from "../dom.ts";
import { limitLength } from "../limit-length.ts";

export interface FormInput {
  /** The control, or the list of those that one of is chosen from. */
  node: HTMLElement;
  /** What several controls together are; undefined for one. */
  group?: "group" | "radiogroup";
  controls: readonly HTMLElement[];
  focus(): void;
  /** Undefined where it is left out. */
  read(): WrittenFields[string] | undefined;
  /** What does not fit; empty where all does. */
  problem(): string;
}

/** Above this a list is a menu. */
const fewOptions = 6;
/** Above this a text has several lines. */
const lineChars = 200;

export function createInput(field: InputField, id: string): FormInput {
  switch (field.kind) {
    case "yes-no":
      return createRadios(field, id, ["Yes", "No"]);
    case "one": {
      const titles = (field.options ?? []).map(({ title }) => title || "(empty)");
      return titles.length > fewOptions ? createMenu(field, id, titles) : createRadios(field, id, titles);
    }
    case "many":
      return createChecks(field, id);
    case "text":
    case "number":
    case "integer":
      return createText(field, id);
  }
}

/** The numbers of the options that the default names, which is what a person would write. */
function defaultsOf({ kind, default: usual, options = [] }: InputField, titles: readonly string[]): number[] {
  if (usual === undefined) return [];
  if (kind === "yes-no") return [usual === "yes" ? 0 : 1];
  if (kind === "one") return [titles.indexOf(usual)].filter((index) => index >= 0);
  const named = usual.split(", ");
  return options.flatMap(({ title }, index) => (named.includes(title) ? [index] : []));
}

function createText(field: InputField, id: string): FormInput {
  const { kind, format, default: usual = "" } = field;
  const control = createControl(field, id);
  control.value = format === "date-time" && usual ? toLocal(usual) : usual;
  return {
    ...{ node: control, controls: [control] },
    focus: () => control.focus(),
    read() {
      const value = control.value.trim();
      if (value === "") return undefined;
      if (kind !== "text") return Number(value);
      return format === "date-time" ? new Date(value).toISOString() : value;
    },
    problem: () => control.validationMessage,
  };
}

function createControl(field: InputField, id: string): HTMLInputElement | HTMLTextAreaElement {
  const { kind, format, required, least = -Infinity, most = Infinity } = field;
  if (kind === "text") {
    const hasLines = !format && most > lineChars && most < Infinity;
    const control = hasLines
      ? element("textarea", { id, rows: 4, required })
      : element("input", { id, type: typeOf(field), required, autocomplete: "off" });
    if (least > 0) control.minLength = Math.ceil(least);
    if (most < Infinity) limitLength(control, Math.max(0, Math.floor(most)));
    return control;
  }
  const control = element("input", { id, type: "number", required, autocomplete: "off" });
  const isWhole = kind === "integer";
  control.step = isWhole ? "1" : "any";
  if (least > -Infinity) control.min = String(isWhole ? Math.ceil(least) : least);
  if (most < Infinity) control.max = String(isWhole ? Math.floor(most) : most);
  return control;
}

function typeOf({ format }: InputField): string {
  switch (format) {
    case "email":
      return "email";
    case "uri":
      return "url";
    case "date":
      return "date";
    case "date-time":
      return "datetime-local";
    default:
      return "text";
  }
}

/** A time as `datetime-local` takes it: that of the person's clock, without a zone. Empty where it is none. */
function toLocal(time: string): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function createMenu(field: InputField, id: string, titles: readonly string[]): FormInput {
  const [chosen] = defaultsOf(field, titles);
  const control = element(
    "select",
    { id, required: field.required },
    ...["", ...titles].map((title, index) =>
      element("option", { value: index === 0 ? "" : index - 1 }, title),
    ),
  );
  control.value = String(chosen ?? "");
  return {
    ...{ node: control, controls: [control] },
    focus: () => control.focus(),
    read: () => (control.value === "" ? undefined : [Number(control.value)]),
    problem: () => control.validationMessage,
  };
}

function createRadios(field: InputField, id: string, titles: readonly string[]): FormInput {
  const [chosen] = defaultsOf(field, titles);
  const none = field.required ? [] : ["No answer"];
  const controls = [...titles, ...none].map((_title, index) => {
    const control = element("input", { type: "radio", name: id, value: index, required: field.required });
    control.checked = index === (chosen ?? (field.required ? -1 : titles.length));
    return control;
  });
  const find = () => controls.findIndex(({ checked }) => checked);
  return {
    ...{ node: listControls(controls, [...titles, ...none]), group: "radiogroup", controls },
    focus: () => (controls[Math.max(0, find())] ?? document.body).focus(),
    read: () => (find() >= 0 && find() < titles.length ? [find()] : undefined),
    problem: () => controls[0]?.validationMessage ?? "",
  };
}

function createChecks(field: InputField, id: string): FormInput {
  const { options = [], required, least = 0, most = options.length } = field;
  const titles = options.map(({ title }) => title || "(empty)");
  const chosen = defaultsOf(field, titles);
  const controls = options.map((_option, index) => {
    const control = element("input", { type: "checkbox", name: id, value: index });
    control.checked = chosen.includes(index);
    return control;
  });
  const read = () => controls.flatMap(({ checked }, index) => (checked ? [index] : []));
  const fewest = Math.max(required ? 1 : 0, Math.ceil(least));
  return {
    ...{ node: listControls(controls, titles), group: "group", controls },
    focus: () => controls[0]?.focus(),
    read: () => (read().length > 0 ? read() : undefined),
    problem() {
      const { length } = read();
      if (length === 0 && !required) return "";
      if (length < fewest) return `Please choose at least ${fewest}.`;
      return length > most ? `Please choose at most ${Math.floor(most)}.` : "";
    },
  };
}

function listControls(controls: readonly HTMLElement[], titles: readonly string[]): HTMLElement {
  return element(
    "div",
    { class: "choices" },
    ...controls.map((control, index) => element("label", { class: "check" }, control, titles[index] ?? "")),
  );
}
