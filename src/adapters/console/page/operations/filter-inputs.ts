/** What lists are filtered by. */
import { element } from "../dom.ts";

/** People go on typing for so long, ms. */
export const typingMs = 250;

/** The most that the server takes of what is searched for. */
export const mostSearchChars = 300;

/** A choice among what there is, or all of it. */
export function choice(label: string, all: string, onchange: () => void) {
  const select = element("select", { "aria-label": label, onchange }, element("option", { value: "" }, all));
  let offered = "[]";
  return {
    element: select,
    read: (): string | undefined => select.value || undefined,
    clear: () => (select.value = ""),
    /** What is chosen stays, also when nothing is like that any more. */
    offer(options: readonly (readonly [value: string, name: string])[]) {
      const now = JSON.stringify(options);
      if (now === offered) return;
      offered = now;
      const { value, selectedOptions } = select;
      const names: [string, string][] = [
        ["", all],
        ...options.map(([id, name]): [string, string] => [id, name]),
      ];
      if (!names.some(([id]) => id === value)) names.push([value, selectedOptions[0]?.textContent ?? value]);
      select.replaceChildren(...names.map(([id, name]) => element("option", { value: id }, name)));
      select.value = value;
    },
  };
}

/** A day, of the person's own calendar. */
export function dateInput(label: string, onchange: () => void) {
  const input = element("input", { type: "date", "aria-label": label, onchange });
  const at = (days: number): number | undefined => {
    const [year, month, day] = input.value.split("-").map(Number);
    if (year === undefined || month === undefined || day === undefined) return undefined;
    const time = new Date(year, month - 1, day + days).getTime();
    // While a year is typed, browsers have it as 0002, 0020 and 0202.
    return time >= 0 ? time : undefined;
  };
  return {
    element: element("label", { class: "dated" }, label, input),
    clear: () => (input.value = ""),
    /** Its beginning, ms since the epoch. */
    read: () => at(0),
    /** Its end. */
    readEnd: () => at(1),
  };
}

/** US dollars that something has cost at least. */
export function costInput(oninput: () => void) {
  const input = element("input", {
    ...{ type: "number", min: 0, step: 0.01, placeholder: "$ at least" },
    ...{ "aria-label": "Cost at least, dollars", oninput },
  });
  return {
    element: input,
    clear: () => (input.value = ""),
    read: () => (input.value && input.valueAsNumber > 0 ? input.valueAsNumber : undefined),
  };
}
