/** What a command has printed, as a terminal shows it. */
import { parseTerminal } from "./ansi.ts";
import { type Child, element } from "./dom.ts";
import { changesScriptOften } from "./markdown/heavy.ts";
import { renderPlain } from "./markdown/render.ts";

/** More changes of colour would hold up the page: then there are none. */
const maxRuns = 8_000;

/** Text with the control sequences of a terminal as nodes. */
export function renderTerminal(text: string): Child[] {
  const runs = parseTerminal(text);
  if (runs.length > maxRuns || changesScriptOften(text))
    return renderPlain(runs.map((run) => run.text).join(""));
  return runs.map((run) =>
    run.classes === "" ? run.text : element("span", { class: run.classes }, run.text),
  );
}
