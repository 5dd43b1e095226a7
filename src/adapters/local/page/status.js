/** What kind of Heddle this is: banners for what should be known before trusting it, and the small print. */
import { byId, element, icon } from "./dom.js";

const redisWords = { url: "Redis", system: "Redis, started by Heddle", embedded: "embedded Redis" };

export function showStatus({ model, demo, sandbox, redis, adapters }) {
  byId("banners").replaceChildren(
    ...(demo
      ? [
          banner(
            "This is the demo model.",
            "It plays a few prepared scenes, in a real sandbox. For a real one put ANTHROPIC_API_KEY, OPENAI_API_KEY or MINIMAX_API_KEY into .env and start Heddle again.",
          ),
        ]
      : []),
    ...(sandbox.ok ? [] : [sandboxBanner(sandbox)]),
    ...(redis === "embedded"
      ? [
          banner(
            "Redis is embedded, for development only.",
            "Threads are kept on a best-effort basis. Install valkey-server or redis-server, or set REDIS_URL.",
          ),
        ]
      : []),
  );
  const facts = {
    Model: model,
    Sandbox: sandbox.summary,
    State: redisWords[redis],
    Connected: adapters.map((name) => (name === "local" ? "this console" : name)).join(", "),
  };
  const lines = Object.entries(facts).flatMap(([term, value]) => [
    element("dt", {}, term),
    element("dd", { title: value }, value),
  ]);
  byId("facts").replaceChildren(...lines);
}

function banner(what, more, ...details) {
  return element(
    "div",
    { class: "banner" },
    icon("failed"),
    element("p", {}, element("strong", {}, what), " ", more),
    ...details,
  );
}

function sandboxBanner({ problems }) {
  const fixes = problems.map(({ what, fix }) => element("li", {}, what, " ", element("em", {}, fix)));
  const details = element(
    "details",
    {},
    element("summary", {}, "How to fix it"),
    element("ul", {}, ...fixes),
  );
  return banner(
    "There is no sandbox.",
    "Heddle runs no commands and touches no files until there is one.",
    details,
  );
}
