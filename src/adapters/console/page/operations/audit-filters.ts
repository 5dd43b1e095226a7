/** What the audit log is filtered by. */
import type { ThreadFacets, AuditKind, AuditQuery } from "../../../../operations/finding.ts";
import { element } from "../dom.ts";
import { choice, costInput, dateInput, mostSearchChars, typingMs } from "./filter-inputs.ts";

/** Each kind of entry that there is, in the order in which they are offered. */
const kinds: Record<AuditKind, true> = {
  ...{ asked: true, ordered: true, edited: true, deleted: true, stopped: true, pressed: true },
  ...{ decided: true, "decision-refused": true, "approvals-cleared": true, continued: true, refused: true },
  ...{ "schedule-planned": true, "schedule-fired": true, "schedule-cancelled": true },
  ...{ "queue-removed": true, "queue-advanced": true, "queue-moved": true },
  ...{ "turn-began": true, "turn-took": true, "turn-ended": true },
  ...{ "tool-began": true, "tool-ended": true },
  ...{ "turns-undone": true, "undo-taken-back": true, "thread-forked": true },
  ...{ "thread-renamed": true, "thread-archived": true, "thread-reopened": true },
  ...{ "thread-exported": true, "thread-deleted": true, "direct-read": true },
  ...{ "setting-changed": true, "account-connected": true, "account-disconnected": true },
  ...{ "token-created": true, "token-revoked": true, "person-forgotten": true, "signed-in": true },
  ...{ "setup-begun": true, "setup-saved": true, "setup-removed": true, "setup-ended": true },
  ...{ "log-broken": true, "facts-lost": true },
};

/** How turns and calls end, and what is decided, as the log has it. */
const states: readonly string[] = [
  ...["answered", "silent", "stopped", "step-limit", "budget", "refused", "model-error"],
  ...["ok", "error", "partial", "unknown", "denied", "undecided"],
  ...["approved", "expired", "unasked"],
];

export function createAuditFilters(onChange: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changeSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(onChange, typingMs);
  };
  const search = (label: string, id?: string) =>
    element("input", {
      ...{ type: "search", placeholder: label, "aria-label": label, oninput: changeSoon },
      maxlength: mostSearchChars,
      ...(id && { id }),
    });
  const [person, thread] = [search("Person", "search"), search("Thread id")];
  const what = choice("Event", "All events", onChange);
  what.offer(toOptions(Object.keys(kinds)));
  const state = choice("State", "All states", onChange);
  state.offer(toOptions(states));
  const channel = choice("Channel", "All channels", onChange);
  const model = choice("Model", "All models", onChange);
  const since = dateInput("From", onChange);
  const until = dateInput("To", onChange);
  const cost = costInput(changeSoon);
  const clear = element("button", { type: "button", class: "action", onclick: clearAll }, "Clear filters");
  const inputs = [channel, model, since, until, cost].map((one) => one.element);
  const more = element(
    "details",
    { class: "folded filters" },
    element("summary", {}, "More filters"),
    element("div", { class: "tools" }, ...inputs, thread, clear),
  );

  function clearAll(): void {
    for (const one of [what, state, channel, model, since, until, cost]) one.clear();
    for (const input of [person, thread]) input.value = "";
    onChange();
  }

  return {
    element: element(
      "div",
      {},
      element("div", { class: "tools" }, person, what.element, state.element),
      more,
    ),
    offer({ channels, models }: Pick<ThreadFacets, "channels" | "models">): void {
      channel.offer(channels.map(({ id, name }) => [id, name]));
      model.offer(toOptions(models));
    },
    read: (): AuditQuery => ({
      person: person.value.trim() || undefined,
      thread: thread.value.trim() || undefined,
      what: what.read(),
      state: state.read(),
      channel: channel.read(),
      model: model.read(),
      since: since.read(),
      until: until.readEnd(),
      minCost: cost.read(),
    }),
  };
}

function toOptions(values: readonly string[]): [string, string][] {
  return values.map((value) => [value, value]);
}
