import { datePattern } from "./patterns.mts";

export const sections = ["decisions", "actions", "open questions"] as const;
type Section = (typeof sections)[number];

/** Lines that one citation may span. */
const longestSpan = 30;

/**
 * What is wrong with minutes, and how many items each section that is there has.
 *
 * @param minutes lines from 1 on, so that an index is a line number, as of the source
 */
export function checkMinutes(
  path: string,
  minutes: readonly string[],
  source: readonly string[],
): { faults: string[]; items: Map<Section, number> } {
  const faults: string[] = [];
  const items = new Map<Section, number>();
  const everything = source.slice(1).join("\n");
  let section: Section | undefined;
  for (const [number, line] of minutes.entries()) {
    const title = /^##\s+(.+?)\s*$/s.exec(line)?.[1]?.toLowerCase();
    if (title !== undefined) {
      section = sections.find((name) => name === title);
      if (section) items.set(section, items.get(section) ?? 0);
      continue;
    }
    if (section === undefined || !/\S/.test(line) || /^\s*-?\s*none\.?\s*$/i.test(line)) continue;
    const tell = (fault: string) => faults.push(`${path}:${number}: ${fault}`);
    if (!line.startsWith("- ")) {
      tell('not an item; begin it with "- ", or move it to the summary');
      continue;
    }
    items.set(section, (items.get(section) ?? 0) + 1);
    const isAction = section === "actions";
    if (isAction && !/^- \[[ x]\] [^:]+: .+ [—–-]+ (?:due \S.*|no date) \[L/s.test(line))
      tell("an action reads: - [ ] OWNER: TASK — due WHEN [L1] (or: — no date)");
    const cited = findCited(line, source);
    if (!cited.ok) {
      tell(cited.fault);
      continue;
    }
    if (isAction) checkOwners(line, everything).forEach(tell);
    checkFacts(line, cited.text).forEach(tell);
  }
  for (const needed of sections) {
    const title = needed.charAt(0).toUpperCase() + needed.slice(1);
    if (!items.has(needed)) faults.push(`${path}: the section ## ${title} is missing`);
  }
  return { faults, items };
}

/** The lines of the source that an item cites. */
function findCited(
  line: string,
  source: readonly string[],
): { ok: true; text: string } | { ok: false; fault: string } {
  const refuse = (fault: string) => ({ ok: false as const, fault });
  const citations = [...line.matchAll(/\[(L[\dL,\s–-]+)\]/g)].map(([, citation = ""]) => citation);
  if (citations.length === 0) return refuse("no line of the source is cited, as in [L12]");
  const last = source.length - 1;
  const text: string[] = [];
  for (const part of citations.flatMap((citation) => citation.replace(/[\s,]+$/, "").split(/\s*,\s*/))) {
    const [, first, second = first] = /^\s*L?(\d+)(?:\s*[-–]\s*L?(\d+))?\s*$/.exec(part) ?? [];
    if (first === undefined) return refuse(`[${part}] is no citation like [L12] or [L12-L14]`);
    const [from, to] = [Number(first), Number(second)];
    if (from < 1 || to > last || to < from)
      return refuse(`[${part}] is not in the source, which has ${last} lines`);
    if (to - from > longestSpan)
      return refuse(`[${part}] spans more than ${longestSpan} lines; cite the ones that say it`);
    text.push(...source.slice(from, to + 1));
  }
  if (!text.some((cited) => /\S/.test(cited))) return refuse("the cited lines are empty");
  return { ok: true, text: text.join("\n") };
}

function checkOwners(line: string, everything: string): string[] {
  const owners = /^- \[[ x]\] ([^:]+):/.exec(line)?.[1];
  if (owners === undefined) return [];
  return owners
    .split(/\s*(?:,|&| and )\s*/)
    .filter((owner) => owner !== "" && !/^nobody yet$/i.test(owner))
    .filter((owner) => !isNamed(owner.trim().split(/\s+/)[0] ?? "", everything))
    .map((owner) => `the source does not name ${owner}; write nobody yet`);
}

function isNamed(name: string, text: string): boolean {
  return new RegExp(String.raw`(?<![\p{L}\p{N}])${quote(name)}(?![\p{L}\p{N}])`, "iu").test(text);
}

/** Dates and figures must come from the cited lines. A calendar date may stand for a relative one there. */
function checkFacts(line: string, cited: string): string[] {
  const faults: string[] = [];
  const text = line.replaceAll(/\[L[^\]]*\]/g, "");
  const due = /\bdue (.+?)\s*$/s.exec(text)?.[1];
  if (due !== undefined && cited.search(datePattern) < 0 && !cited.toLowerCase().includes(due.toLowerCase()))
    faults.push(`the cited lines name no date, so due ${due} is invented; write no date`);
  const undated = text.replace(/\bdue .+$/s, "").replaceAll(/\b\d{4}-\d\d-\d\d\b/g, "");
  const plain = joinThousands(cited);
  for (const [, figure = ""] of undated.matchAll(/(?<![\p{L}\d.])(\d[\d.,]*\d)(?![\p{L}\d])/gu)) {
    if (!new RegExp(String.raw`(?<!\d)${quote(joinThousands(figure))}(?!\d)`).test(plain))
      faults.push(`the figure ${figure} is not in the cited lines`);
  }
  return faults;
}

function joinThousands(text: string): string {
  return text.replaceAll(/(?<=\d)[.,](?=\d{3}\b)/g, "");
}

/** As part of a pattern. */
function quote(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
