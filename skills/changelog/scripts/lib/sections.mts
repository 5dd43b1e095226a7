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
  [
    /^(?:add|adds|added|introduce|support|implement|allow|enable|new|show|offer|let|give|teach|provide|publish|accept)\b/i,
    "Added",
  ],
  [
    /^(?:fix|fixes|fixed|correct|repair|resolve|prevent|avoid|do not|don't|stop|handle|guard|survive|escape|retry|restore)\b/i,
    "Fixed",
  ],
  [/^(?:remove|removes|removed|drop|delete|retire)\b/i, "Removed"],
  [/^(?:deprecate|deprecates|deprecated)\b/i, "Deprecated"],
  [/^(?:doc|docs|document|documentation|readme|typo|comment|describe|explain)\b/i, "Documentation"],
  [
    /^(?:test|tests|refactor|clean|cleanup|lint|format|rename|move|extract|inline|simplify|ci|tidy|split|reorgani[sz]e|restructure|deduplicate|benchmark|measure)\b/i,
    "Internal",
  ],
];

/** What a commit is about that touches nothing but such files, whatever it is called. */
const places: [RegExp, Section][] = [
  [/(?:^|\/)(?:docs?|documentation|man)\/|\.(?:md|mdx|rst|adoc)$/i, "Documentation"],
  [
    /(?:^|\/)(?:package(?:-lock)?\.json|[\w.-]+\.lock|pnpm-lock\.yaml|go\.(?:mod|sum)|requirements[\w.-]*\.txt)$/i,
    "Dependencies",
  ],
  [
    /(?:^|\/)(?:tests?|specs?|__tests__|bench(?:marks?)?|ci|scripts|tools|fixtures)\/|(?:^|\/)\.[\w-]|[._](?:test|spec)\.\w+$|(?:^|\/)(?:\w*lint\w*|biome|tsconfig|knip|Makefile)[\w.]*$/i,
    "Internal",
  ],
];

/** Words within a title that say what it is where its beginning does not. */
const within: [RegExp, Section][] = [
  [
    /\b(?:bugs?|crash(?:es|ed)?|deadlocks?|leaks?|races?|regressions?|broken|wrong(?:ly)?|no longer|instead of|twice|never lost)\b/i,
    "Fixed",
  ],
];

export function sectionOf(commit: Commit): Section {
  const { isBreaking, type, scope = "", title } = commit;
  if (isBreaking) return "Breaking";
  if (/^deps(?:-dev)?$/.test(scope)) return "Dependencies";
  if (/\bCVE-\d{4}-\d+/.test(title)) return "Security";
  const byType = sections.find((section) => type !== undefined && types[section]?.includes(type));
  return byType ?? find(beginnings, title) ?? placeOf(commit) ?? find(within, title) ?? "Changed";
}

function find(patterns: readonly (readonly [RegExp, Section])[], text: string): Section | undefined {
  return patterns.find(([pattern]) => pattern.test(text))?.[1];
}

/** What all of its files are; of several kinds the least that readers have to know. */
function placeOf({ files }: Commit): Section | undefined {
  const found = new Set(files.map((file) => find(places, file)));
  if (found.size === 0 || found.has(undefined)) return undefined;
  return found.has("Internal") ? "Internal" : [...found][0];
}
