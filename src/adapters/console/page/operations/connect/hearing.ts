/** On the page Connect: whether the platforms that are configured bring anything in. */
import type { PlatformHearing } from "../../../setup-at-console.ts";
import { element } from "../../dom.ts";
import { section } from "../report.ts";
import { namePlatform } from "../thread-words.ts";

export function hearingPanel(platforms: readonly PlatformHearing[]): HTMLElement {
  return section("The first mention", element("ul", { class: "hearing" }, ...platforms.map(lineOf)));
}

function lineOf(hearing: PlatformHearing): HTMLElement {
  const name = namePlatform(hearing.platform);
  if (hearing.state === "heard") {
    const { at, by, where, refusal } = hearing.message;
    const heard = `${name}: I hear you in ${where}. ${by} wrote to me at ${new Date(at).toLocaleTimeString()}.`;
    const refused = refusal === undefined ? [] : [element("p", { class: "warns" }, `I answered: ${refusal}`)];
    return element("li", {}, element("p", { class: "works" }, `✓ ${heard}`), ...refused);
  }
  const reasons = hearing.reasons.map((reason) => element("p", { class: "warns" }, `! ${reason}`));
  return element("li", {}, element("p", {}, describe(name, hearing.state)), ...reasons);
}

function describe(name: string, state: "unreached" | "listening" | "silent"): string {
  switch (state) {
    case "unreached":
      return `${name} is not connected yet; Heddle keeps trying.`;
    case "listening":
      return `${name} is connected. Mention the bot in a channel where it is, or write to it directly …`;
    case "silent":
      return `${name} is connected, but nobody has been heard since Heddle was started. Mention the bot; if that changes nothing here:`;
  }
}
