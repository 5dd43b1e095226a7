/** The installation: queue, workers and what they run, sandbox, MCP servers, skills. */
import { getSystem } from "./api.js";
import { sessionAddress } from "./all-threads.js";
import { element, icon, timeElement } from "./dom.js";
import { counted, formatCount } from "./format.js";
import { chip, emptyNote, facts, failure, section, table } from "./report.js";

/** Workers tell of themselves every 5 seconds. */
const lookEveryMs = 10_000;

const redisWords = {
  url: "a server of its own",
  system: "started by Heddle",
  embedded: "embedded, for development",
};
const mcpSigns = { ready: "answered", idle: "idle", disabled: "idle", connecting: "waiting" };

/** Shows the page in `root`; returns what ends it. */
export function openSystem(root) {
  let closed = false;
  let shown = "";
  const asOf = element("p", { class: "count" });
  const again = element("button", { type: "button", class: "action", onclick: load }, "Look again");
  const body = element("div", {}, emptyNote("Loading…"));
  root.replaceChildren(element("div", { class: "tools" }, again, asOf), body);
  void load();

  async function load() {
    try {
      const report = await getSystem();
      if (closed) return;
      asOf.replaceChildren("As of ", timeElement(Date.now()));
      const now = JSON.stringify(report);
      if (now === shown) return;
      shown = now;
      body.replaceChildren(
        queueOf(report),
        workersOf(report),
        sandboxOf(report),
        skillsOf(report),
        redisOf(report),
      );
    } catch (error) {
      shown = "";
      if (!closed) body.replaceChildren(failure(error, load));
    }
  }

  // Not under the hands of somebody who reads there.
  const isRead = () => body.contains(document.activeElement) || body.querySelector("details[open]");
  const looking = setInterval(() => document.hidden || isRead() || void load(), lookEveryMs);
  return () => {
    closed = true;
    clearInterval(looking);
  };
}

function queueOf({ queue, workers }) {
  const running = workers.reduce((sum, worker) => sum + worker.running.length, 0);
  const room = workers.reduce((sum, { concurrency }) => sum + concurrency, 0);
  const shown = [
    ["Waiting", queue.waiting],
    ["Being worked on", queue.active],
    ["Put off", queue.delayed],
    ["Given up", queue.failed],
    ["Turns running", `${formatCount(running)} of ${formatCount(room)}`],
  ];
  return section(
    "Queue",
    element(
      "dl",
      { class: "tiles" },
      ...shown.map(([term, value]) =>
        element(
          "div",
          {},
          element("dt", {}, term),
          element("dd", {}, typeof value === "number" ? formatCount(value) : value),
        ),
      ),
    ),
  );
}

function workersOf({ workers }) {
  if (workers.length === 0) {
    const how =
      "No worker was heard of in the last 15 seconds, so nothing is worked on. Start one: heddle start --role worker.";
    return section(
      "Workers",
      element("div", { class: "failure", role: "alert" }, icon("failed"), element("p", {}, how)),
    );
  }
  return section("Workers", element("div", { class: "cards" }, ...workers.map(workerCard)));
}

function workerCard({ host, pid, startedAt, concurrency, model, running, mcp }) {
  const turns = running.map(({ thread, title, since }) =>
    element(
      "li",
      {},
      element("a", { href: sessionAddress(thread), title: thread }, title ?? thread),
      " since ",
      timeElement(since),
    ),
  );
  return element(
    "article",
    { class: "card" },
    element("h4", {}, host, element("span", { class: "soft" }, ` · process ${pid}`)),
    facts([
      ["Since", timeElement(startedAt)],
      ["Model", model],
      ["Runs", `${running.length} of ${counted(concurrency, "turn")} at once`],
    ]),
    ...(turns.length > 0 ? [element("ul", { class: "plain-list" }, ...turns)] : []),
    element("h5", {}, "MCP servers"),
    mcp.length === 0
      ? emptyNote("None. List them in mcp.json (docs/extending.md).")
      : element("ul", { class: "plain-list" }, ...mcp.map(mcpServer)),
  );
}

function mcpServer({ server, state, tools, problem }) {
  const names = element(
    "details",
    { class: "folded" },
    element("summary", {}, counted(tools.length, "tool")),
    tools.join(", "),
  );
  return element(
    "li",
    {},
    chip(mcpSigns[state] ?? "failed", state),
    element("strong", {}, ` ${server} `),
    ...(tools.length > 0 ? [names] : []),
    ...(problem ? [element("p", { class: "soft" }, problem)] : []),
  );
}

function sandboxOf({ workers, limits }) {
  const kinds = Map.groupBy(workers, ({ sandbox }) => JSON.stringify(sandbox));
  const shown = [...kinds.values()].map((alike) => {
    const [{ sandbox }] = alike;
    const problems = sandbox.problems.map(({ what, fix }) =>
      element("li", {}, icon("failed"), element("span", {}, what, " ", element("em", {}, fix))),
    );
    return element(
      "article",
      { class: "card" },
      element(
        "p",
        { class: "chipped" },
        chip(sandbox.ok ? "answered" : "failed", sandbox.ok ? "Sandbox in force" : "No sandbox"),
        element("span", { class: "soft" }, alike.map(({ host }) => host).join(", ")),
      ),
      element("p", {}, sandbox.summary),
      ...(problems.length > 0 ? [element("ul", { class: "plain-list problems" }, ...problems)] : []),
    );
  });
  return section(
    "Sandbox",
    element("div", { class: "cards" }, ...shown),
    table(
      "Limits of the sandbox",
      [
        ["Limit", false],
        ["Value", true],
      ],
      limits.map(({ name, value }) => [name, value]),
    ),
  );
}

function skillsOf({ skills, skillProblems }) {
  const problems = skillProblems.map(({ path, reason }) =>
    element("li", {}, icon("failed"), element("span", {}, element("code", {}, path), " ", reason)),
  );
  const list = skills.map(({ name, description }) => [element("code", {}, name), description]);
  return section(
    "Skills",
    ...(problems.length > 0 ? [element("ul", { class: "plain-list problems" }, ...problems)] : []),
    list.length === 0
      ? emptyNote("There are no skills. Name their folders under skills.folders in heddle.yaml.")
      : table(
          "Skills",
          [
            ["Skill", false],
            ["What it is for", false],
          ],
          list,
        ),
  );
}

function redisOf({ redis: { kind, describe, warnings } }) {
  const lines = warnings.map((warning) => element("li", {}, icon("failed"), element("span", {}, warning)));
  return section(
    "Redis",
    facts([
      ["Server", describe],
      ["Kind", redisWords[kind]],
    ]),
    ...(lines.length > 0 ? [element("ul", { class: "plain-list problems" }, ...lines)] : []),
  );
}
