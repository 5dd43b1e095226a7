import type { Commit } from "./commits.mts";

/** In the order of a changelog. */
export const sections = [
  "Breaking",
  "Security",
  "Added",
  "Changed",
  "Deprecated",
  "Removed",
  "Fixed",
  "Documentation",
  "Dependencies",
  "Internal",
] as const;
export type Section = (typeof sections)[number];

const types: Partial<Record<Section, string[]>> = {
  Added: ["feat", "feature", "add"],
  Fixed: ["fix", "bugfix", "hotfix"],
  Changed: ["perf", "improve", "change"],
  Security: ["security"],
  Deprecated: ["deprecate"],
  Removed: ["remove"],
  Documentation: ["docs", "doc"],
  Dependencies: ["deps"],
  Internal: ["refactor", "chore", "build", "ci", "test", "tests", "style", "release", "wip"],
};

/** How a title begins; the first that fits counts. */
const beginnings: [RegExp, Section][] = [
  [/^(?:\w+ )?(?:cve-\d|security|vulnerab)/i, "Security"],
  [
    /^(?:bump|upgrade|update) \S+ (?:from|to) v?\d|^(?:bump|update|upgrade) (?:\w+ )?dependenc/i,
    "Dependencies",
  ],
  [/^(?:bump|release|prepare|version|merge|v?\d+\.\d+)\b/i, "Internal"],
  [/^(?:add|adds|added|introduce|support|implement|allow|enable|new|show|offer)\b/i, "Added"],
  [/^(?:fix|fixes|fixed|correct|repair|resolve|prevent|avoid|do not|don't|stop|handle|guard)\b/i, "Fixed"],
  [/^(?:remove|removes|removed|drop|delete|retire)\b/i, "Removed"],
  [/^(?:deprecate|deprecates|deprecated)\b/i, "Deprecated"],
  [/^(?:doc|docs|document|documentation|readme|typo|comment|describe|explain)\b/i, "Documentation"],
  [
    /^(?:test|tests|refactor|clean|cleanup|lint|format|rename|move|extract|inline|simplify|ci|tidy)\b/i,
    "Internal",
  ],
];

export function sectionOf({ isBreaking, type, scope = "", title }: Commit): Section {
  if (isBreaking) return "Breaking";
  if (/^deps(?:-dev)?$/.test(scope)) return "Dependencies";
  if (/\bCVE-\d{4}-\d+/.test(title)) return "Security";
  const byType = sections.find((section) => type !== undefined && types[section]?.includes(type));
  return byType ?? beginnings.find(([beginning]) => beginning.test(title))?.[1] ?? "Changed";
}
