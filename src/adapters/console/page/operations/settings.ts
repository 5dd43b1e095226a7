/** The settings in force: where they come from, what differs from the defaults, and what holds in channels. */
import type { SettingLine, SettingOrigin, SettingsReport } from "../../../../operations/reports.ts";
import { getSettings } from "../api.ts";
import { type Child, element, timeElement } from "../dom.ts";
import { foldText } from "../fold-text.ts";
import { alert, type Column, emptyNote, facts, failure, section, table } from "./report.ts";

const columns = ["Setting", "Value", "From"].map((name): Column => [name, false]);

const origins: Record<SettingOrigin, string> = {
  default: "default",
  file: "file",
  environment: "environment",
  chat: "changed in chat",
  everywhere: "as everywhere",
};

/** Shows the page in `root`; returns what ends it. */
export function openSettings(root: HTMLElement): () => void {
  let closed = false;
  let report: SettingsReport | undefined;
  const words = element("input", {
    ...{ type: "search", id: "search", placeholder: "Search settings", "aria-label": "Search settings" },
    oninput: show,
  });
  const all = element("input", { type: "checkbox", onchange: show });
  const body = element("div", { class: "settings" }, emptyNote("Loading…"));
  root.replaceChildren(
    element(
      "div",
      { class: "tools" },
      words,
      element("label", { class: "check" }, all, "Show defaults too"),
      element("a", { class: "action", href: "#/system" }, "System"),
    ),
    body,
  );
  void load();

  async function load(): Promise<void> {
    try {
      report = await getSettings();
      if (!closed) show();
    } catch (error) {
      if (!closed) body.replaceChildren(failure(error, load));
    }
  }

  function show(): void {
    if (!report) return;
    const wanted = foldText(words.value.trim());
    const isWanted = ({ name, value, from }: SettingLine, place = "") =>
      // Whoever searches means all of them.
      (all.checked || wanted !== "" || !["default", "everywhere"].includes(from)) &&
      [name, value, place].some((text) => foldText(text).includes(wanted));
    const channels = report.channels.flatMap(({ id, name, settings }) => {
      const title = name === undefined ? id : `${name} · ${id}`;
      const lines = settings.filter((line) => isWanted(line, title));
      return lines.length > 0 ? section(title, listing(`Settings of ${title}`, lines)) : [];
    });
    const general = report.settings.filter((line) => isWanted(line));
    body.replaceChildren(
      ...describeState(report),
      ...(general.length > 0 ? [section("Everywhere", listing("Settings everywhere", general))] : []),
      ...channels,
      ...(general.length + channels.length > 0
        ? []
        : [emptyNote(wanted ? "No setting is like that." : "Every setting has its default.")]),
    );
  }

  return () => {
    closed = true;
  };
}

function describeState({ file, hash, at, problem, restart, ignored }: SettingsReport): HTMLElement[] {
  const problems = [
    ...(problem === undefined
      ? []
      : [`What the files say now was refused, and what was in force stays. ${problem}`]),
    ...(restart.length === 0 ? [] : [`Changed, and waiting for a restart: ${restart.join(", ")}.`]),
    ...ignored.map(
      ({ setting, of, why }) => `${setting} of ${of} was changed in chat, which does not count: ${why}`,
    ),
  ];
  return [
    ...problems.map(alert),
    facts([
      ["File", file === undefined ? "None; the defaults are in force" : element("code", {}, file)],
      ["Version", element("code", {}, hash)],
      ["In force since", timeElement(at)],
    ]),
    element(
      "p",
      { class: "soft" },
      "Keys and tokens are never shown here. To change a setting, edit the file: ",
      element("code", {}, "docs/configuration.md"),
      " says what each one does.",
    ),
  ];
}

function listing(caption: string, lines: SettingLine[]): HTMLElement {
  return table(
    caption,
    columns,
    lines.map(({ name, value, from }) => [
      element("code", {}, ...breakAtDots(name)),
      value === "" ? element("span", { class: "soft" }, "none") : element("span", { class: "value" }, value),
      origins[from],
    ]),
  );
}

/** Where there is little room, a name breaks between its words. */
function breakAtDots(name: string): Child[] {
  return name.split(/(?<=\.)/).flatMap((part, index) => (index === 0 ? [part] : [element("wbr"), part]));
}
