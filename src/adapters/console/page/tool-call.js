/** One tool call of a timeline, folded: a line that tells how it went, behind it the arguments and the result. */
import { element, icon } from "./dom.js";
import { block, figuresOf, imagesOf } from "./entry-parts.js";
import { counted, formatDuration } from "./format.js";
import { resultOf } from "./states.js";

/** `started` and `ended` show what is known by then. */
export function toolCall(name, input) {
  const sign = element("span", { class: "sign" });
  const state = element("span", { class: "soft" }, "not started");
  const head = element(
    "summary",
    {},
    sign,
    element("code", { class: "tool" }, name),
    element("span", { class: "gist" }, gistOf(input.text)),
    state,
  );
  const body = element("div", { class: "call" });
  if (input.text) body.append(element("h4", {}, "Arguments"), block(input));
  return {
    element: element("details", { class: "tool-call" }, head, body),
    started() {
      sign.replaceChildren(icon("taken"));
      state.textContent = "running";
    },
    ended({ status, text, tookMs, figures, images, inner }) {
      const [mark, word] = resultOf(status);
      sign.className = `sign ${mark}`;
      sign.replaceChildren(icon(mark));
      const more = inner ? ` · ${counted(inner.omitted + inner.calls.length, "call")}` : "";
      state.textContent = `${word} · ${formatDuration(tookMs)}${more}`;
      if (inner) body.append(...innerCalls(inner));
      body.append(
        element("h4", {}, "Result", imagesOf({ images })),
        block(text),
        ...(figures ? [figuresOf(figures)] : []),
      );
    },
  };
}

/** What a sub-agent did, below the call that started it. */
function innerCalls({ calls, omitted }) {
  const all = counted(omitted + calls.length, "call");
  const title = omitted ? `${all} of the helper, the last ${calls.length}` : `${all} of the helper`;
  const shown = calls.map((inner) => {
    const call = toolCall(inner.name, inner.arguments);
    call.ended(inner);
    return call.element;
  });
  return [element("h4", {}, title), ...shown];
}

/** The values of the arguments without their names, on one line; the beginning of their text where it is cut. */
function gistOf(text) {
  let values = text;
  try {
    values = Object.values(JSON.parse(text))
      .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
      .join(" · ");
  } catch {
    // Cut in the middle, or never JSON.
  }
  return values.replaceAll(/\s+/g, " ").slice(0, 140);
}
