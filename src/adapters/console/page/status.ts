/** What kind of Heddle this is: banners for what should be known before trusting it, and the small print. */
import type { ConsoleStatus, SignedIn } from "../services.ts";
import { byId, element, icon } from "./dom.ts";
import { setPerson } from "./person.ts";

const redisWords = { url: "Redis", system: "Redis, started by Heddle", embedded: "embedded Redis" };

export function showStatus({
  model,
  demo,
  sandbox,
  redis,
  adapters,
  connects,
  me,
}: ConsoleStatus & { connects: boolean; me: SignedIn }): void {
  setPerson(me);
  byId("to-connect").hidden = !connects;
  byId("banners").replaceChildren(
    ...(demo ? [demoBanner(connects)] : []),
    ...(sandbox.ok ? [] : [sandboxBanner(sandbox)]),
    ...(redis === "embedded"
      ? [
          banner(
            "warning",
            "Redis is embedded, the last resort.",
            "A crash of Heddle loses nothing, a power loss up to a second of work, and it serves this one machine only. Install valkey-server or redis-server, or set REDIS_URL: what it keeps is moved.",
          ),
        ]
      : []),
  );
  const connected = adapters.map((name) => (name === "local" ? "this console" : name)).join(", ");
  const [sandboxName = ""] = sandbox.summary.split(";");
  /** `soft`: those that make room for threads where the screen is low. */
  const facts: [term: string, value: string, title?: string, soft?: true][] = [
    ...(me.id.startsWith("@") ? [["You", `${me.name} (${me.role})`] as [string, string]] : []),
    ["Model", model],
    ["Sandbox", sandboxName, sandbox.summary, true],
    ["Storage", redisWords[redis], redisWords[redis], true],
    ["Connected", connected, connected, true],
  ];
  const lines = facts.flatMap(([term, value, title = value, soft]) => {
    const kind = soft ? { class: "soft-fact" } : {};
    return [element("dt", kind, term), element("dd", { title, ...kind }, value)];
  });
  byId("facts").replaceChildren(...lines);
  byId("sign-out").hidden = !me.byCookie;
}

function demoBanner(connects: boolean): HTMLElement {
  const what = "This is the demo model.";
  const scenes = "It plays a few prepared scenes in a real sandbox.";
  if (connects)
    return banner(
      "demo",
      what,
      scenes,
      element("a", { class: "action", href: "#/connect" }, "Connect a model"),
    );
  const how =
    "To use a real model, put ANTHROPIC_API_KEY, OPENAI_API_KEY or MINIMAX_API_KEY into .env and restart Heddle.";
  return banner("demo", what, `${scenes} ${how}`);
}

function banner(
  kind: "demo" | "warning",
  what: string,
  more: string,
  ...details: HTMLElement[]
): HTMLElement {
  return element(
    "div",
    { class: `banner ${kind}` },
    icon("failed"),
    element("p", {}, element("strong", {}, what), " ", more),
    ...details,
  );
}

function sandboxBanner({ problems }: ConsoleStatus["sandbox"]): HTMLElement {
  const fixes = problems.map(({ what, fix }) => element("li", {}, what, " ", element("em", {}, fix)));
  const details = element(
    "details",
    {},
    element("summary", {}, "How to fix it"),
    element("ul", {}, ...fixes),
  );
  return banner(
    "warning",
    "There is no sandbox.",
    "Until there is one, Heddle runs no commands and touches no files.",
    details,
  );
}
