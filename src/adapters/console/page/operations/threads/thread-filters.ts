/** What the list of all threads is searched, filtered and sorted by. */
import type { ThreadFacets, ThreadQuery } from "../../../../../operations/finding.ts";
import { element } from "../../dom.ts";
import { choice, costInput, dateInput, mostSearchChars } from "../filter-inputs.ts";
import { namePlatform } from "../thread-words.ts";

const states: [state: NonNullable<ThreadQuery["state"]>, name: string][] = [
  ["running", "Running"],
  ["asking", "Asking"],
  ["waiting", "Waiting"],
  ["paused", "Paused"],
  ["answered", "Answered"],
  ["silent", "Said nothing"],
  ["stopped", "Stopped"],
  ["failed", "Failed"],
  ["archived", "Archived"],
];

const orders: [sort: NonNullable<ThreadQuery["sort"]>, name: string][] = [
  ["newest", "Newest first"],
  ["oldest", "Oldest first"],
  ["cost", "Most expensive first"],
];

export function filterBar(onChange: () => void) {
  const search = element("input", {
    ...{ type: "search", id: "search", placeholder: "Search", "aria-label": "Search threads" },
    ...{ maxlength: mostSearchChars, oninput: onChange },
  });
  const state = choice("State", "All states", onChange);
  state.offer(states);
  const platform = choice("Platform", "All platforms", onChange);
  const channel = choice("Channel", "All channels", onChange);
  const person = choice("Person", "Everybody", onChange);
  const model = choice("Model", "All models", onChange);
  const since = dateInput("From", onChange);
  const until = dateInput("To", onChange);
  const cost = costInput(onChange);
  const sort = element(
    "select",
    { "aria-label": "Order", onchange: onChange },
    ...orders.map(([value, name]) => element("option", { value }, name)),
  );
  const count = element("p", { class: "count", role: "status" });
  const clear = element("button", { type: "button", class: "action", onclick: clearAll }, "Clear filters");
  const inputs = [platform, channel, person, model, since, until, cost].map((one) => one.element);
  const more = element(
    "details",
    { class: "folded filters" },
    element("summary", {}, "More filters"),
    element("div", { class: "tools" }, ...inputs, clear),
  );

  function clearAll(): void {
    for (const one of [state, platform, channel, person, model, since, until, cost]) one.clear();
    search.value = "";
    onChange();
  }

  return {
    count,
    element: element("div", {}, element("div", { class: "tools" }, search, state.element, sort, count), more),
    offer({ platforms, channels, people, models }: ThreadFacets): void {
      const same = (values: string[]) => values.map((value) => [value, value] as const);
      platform.offer(platforms.map((name) => [name, namePlatform(name)]));
      channel.offer(channels.map(({ id, name }) => [id, name]));
      person.offer(same(people));
      model.offer(same(models));
    },
    read: (): Omit<ThreadQuery, "limit" | "offset"> => ({
      words: search.value.trim() || undefined,
      state: states.find(([value]) => value === state.read())?.[0],
      sort: orders.find(([value]) => value === sort.value)?.[0],
      platform: platform.read(),
      channel: channel.read(),
      person: person.read(),
      model: model.read(),
      since: since.read(),
      until: until.readEnd(),
      minCost: cost.read(),
    }),
  };
}
