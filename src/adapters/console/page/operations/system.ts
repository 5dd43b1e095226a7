/** The installation: queue, workers and what they run, sandbox, MCP servers, skills. */
import type { ModelFailure, StoredList, SystemReport, WorkerReport } from "../../../../operations/reports.ts";
import type { Problem } from "../../../../sandbox/sandbox.ts";
import { sessionAddress } from "../addresses.ts";
import { getSystem } from "../api.ts";
import { type Child, element, formatBytes, icon, type IconName, timeElement } from "../dom.ts";
import { formatCount, pluralize } from "../format.ts";
import { alert, chip, type Column, emptyNote, facts, failure, section, table } from "./report.ts";

/** Workers report every 5 seconds. */
const refreshEveryMs = 10_000;

const redisWords = {
  url: "external server",
  system: "started by Heddle",
  embedded: "embedded, the last resort",
};
const mcpSigns: Record<string, IconName> = {
  ready: "answered",
  idle: "idle",
  disabled: "idle",
  connecting: "waiting",
};

/** Shows the page in `root`; returns what ends it. */
export function openSystem(root: HTMLElement): () => void {
  let closed = false;
  let shown = "";
  const asOf = element("p", { class: "count" });
  const refresh = element("button", { type: "button", class: "action", onclick: load }, "Refresh");
  const body = element("div", {}, emptyNote("Loading…"));
  root.replaceChildren(element("div", { class: "tools" }, refresh, asOf), body);
  void load();

  async function load(): Promise<void> {
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
        configurationOf(report),
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
  const isRead = () => body.contains(document.activeElement) || body.querySelector("details[open]") !== null;
  const timer = setInterval(() => {
    if (!document.hidden && !isRead()) void load();
  }, refreshEveryMs);
  return () => {
    closed = true;
    clearInterval(timer);
  };
}

function queueOf({ queue, workers }: SystemReport): HTMLElement {
  const running = workers.reduce((sum, worker) => sum + worker.running.length, 0);
  const room = workers.reduce((sum, { concurrency }) => sum + concurrency, 0);
  const shown: [term: string, value: string][] = [
    ["Waiting", formatCount(queue.waiting)],
    ["Active", formatCount(queue.active)],
    ["Delayed", formatCount(queue.delayed)],
    ["Failed", formatCount(queue.failed)],
    ["Turns running", `${formatCount(running)} of ${formatCount(room)}`],
  ];
  return section(
    "Queue",
    element(
      "dl",
      { class: "tiles" },
      ...shown.map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, value))),
    ),
  );
}

function workersOf({ workers }: SystemReport): HTMLElement {
  if (workers.length === 0) {
    const how =
      "No worker has reported in the last 15 seconds, so no turn runs. Start one: heddle start --role worker.";
    return section("Workers", alert(how));
  }
  return section("Workers", element("div", { class: "cards" }, ...workers.map(workerCard)));
}

function configurationOf({ configuration: { processes, problems, changes } }: SystemReport): HTMLElement {
  const rows = processes.map(({ host, pid, role, hash, at }) => [
    role,
    element("span", {}, host, element("span", { class: "soft" }, ` · process ${pid}`)),
    element("code", {}, hash),
    timeElement(at),
  ]);
  const columns = ["Process", "Host", "Files", "In force since"].map((name): Column => [name, false]);
  const changed = changes.map(({ setting, of, value, by, at }) => [setting, of, value, by, timeElement(at)]);
  const changeColumns = ["Setting", "Of", "Value", "By", "Since"].map((name): Column => [name, false]);
  return section(
    "Configuration",
    ...problems.map(alert),
    table("Configuration of each process", columns, rows),
    element("p", {}, element("a", { class: "action", href: "#/settings" }, "Settings in force")),
    ...(changed.length > 0
      ? [element("h5", {}, "Changed in chat"), table("Changed in chat", changeColumns, changed)]
      : []),
  );
}

function workerCard(worker: WorkerReport): HTMLElement {
  const { host, pid, startedAt, concurrency, model, modelFailures = [], running, mcp } = worker;
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
      ["Started", timeElement(startedAt)],
      ["Model", model],
      ["Running", `${running.length} of up to ${pluralize(concurrency, "turn")}`],
    ]),
    ...(turns.length > 0 ? [element("ul", { class: "plain-list" }, ...turns)] : []),
    ...(modelFailures.length > 0
      ? [
          element("h5", {}, "Model calls that failed"),
          element("ul", { class: "plain-list" }, ...modelFailures.map(failedCall)),
        ]
      : []),
    element("h5", {}, "MCP servers"),
    mcp.length === 0
      ? emptyNote("None. List them in mcp.json (docs/extending.md).")
      : element("ul", { class: "plain-list" }, ...mcp.map(mcpServer)),
  );
}

/** What the thread was told, and what the service said: that goes to nobody but who runs this. */
function failedCall({ model, message, detail, at, times }: ModelFailure): HTMLElement {
  return element(
    "li",
    {},
    element("strong", {}, model),
    ...[" · ", timeElement(at), times > 1 ? ` · ${formatCount(times)} times` : ""],
    element("p", {}, message),
    ...(detail === "" ? [] : [element("p", { class: "soft" }, detail)]),
  );
}

function mcpServer({ server, state, tools, problem }: WorkerReport["mcp"][number]): HTMLElement {
  const names = element(
    "details",
    { class: "folded" },
    element("summary", {}, pluralize(tools.length, "tool")),
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

function sandboxOf({ workers, limits }: SystemReport): HTMLElement {
  const kinds = Map.groupBy(workers, ({ sandbox }) => JSON.stringify(sandbox));
  const shown = [...kinds.values()].flatMap((alike) => {
    const [first] = alike;
    if (!first) return [];
    const { sandbox } = first;
    return element(
      "article",
      { class: "card" },
      element(
        "p",
        { class: "chipped" },
        chip(sandbox.ok ? "answered" : "failed", sandbox.ok ? "Sandbox active" : "No sandbox"),
        element("span", { class: "soft" }, alike.map(({ host }) => host).join(", ")),
      ),
      element("p", {}, sandbox.summary),
      ...problemList(sandbox.problems.map(describeProblem)),
    );
  });
  return section(
    "Sandbox",
    element("div", { class: "cards" }, ...shown),
    table(
      "Sandbox limits",
      [
        ["Limit", false],
        ["Value", true],
      ],
      limits.map(({ name, value }) => [name, value]),
    ),
  );
}

function skillsOf({ skills, skillProblems }: SystemReport): HTMLElement {
  const problems = skillProblems.map(({ path, reason }) => [element("code", {}, path), " ", reason]);
  const list = skills.map(({ name, description }) => [element("code", {}, name), description]);
  return section(
    "Skills",
    ...problemList(problems),
    list.length === 0
      ? emptyNote("No skills. List their folders under skills.folders in heddle.yaml.")
      : table(
          "Skills",
          [
            ["Skill", false],
            ["Description", false],
          ],
          list,
        ),
  );
}

function redisOf({ redis: { kind, describe, warnings }, storage }: SystemReport): HTMLElement {
  const { memory, sessions, journals, mailboxes } = storage;
  const limit = memory?.limit === undefined ? "no limit" : `of ${formatBytes(memory.limit)}`;
  return section(
    "Redis",
    facts([
      ["Server", describe],
      ["Kind", redisWords[kind]],
      ...(memory ? [["Memory", `${formatBytes(memory.used)}, ${limit}`] satisfies [string, string]] : []),
      ["Sessions", formatCount(sessions)],
    ]),
    ...listTable("Largest journals", journals),
    ...listTable("Largest mailboxes", mailboxes),
    ...problemList(warnings.map((warning) => [warning])),
  );
}

/** Nothing where there is none. */
function listTable(title: string, lists: StoredList[]): HTMLElement[] {
  if (lists.length === 0) return [];
  const rows = lists.map(({ thread, title: name, records, bytes }) => [
    element("a", { href: sessionAddress(thread), title: thread }, name ?? thread),
    formatCount(records),
    bytes === undefined ? "unknown" : formatBytes(bytes),
  ]);
  const columns: [string, boolean][] = [
    [title, false],
    ["Records", true],
    ["Size", true],
  ];
  return [table(title, columns, rows)];
}

function describeProblem({ what, fix }: Problem): Child[] {
  return [what, " ", element("em", {}, fix)];
}

/** Nothing where there is none. */
function problemList(problems: Child[][]): HTMLElement[] {
  const lines = problems.map((parts) => element("li", {}, icon("failed"), element("span", {}, ...parts)));
  return lines.length > 0 ? [element("ul", { class: "plain-list problems" }, ...lines)] : [];
}
