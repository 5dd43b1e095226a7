/** How authors write the folder of their skill: ours, Claude's, and placeholders that are in use elsewhere. */
const folderVariable = /\$(?:\{(?:CLAUDE_)?SKILL_DIR\}|(?:CLAUDE_)?SKILL_DIR\b)|\{(?:baseDir|skillDir)\}/g;

/** What may stand before a path, so that no other path ends in it. */
const before = String.raw`(?<![\w./\\~$@-])`;
/** What may stand behind it, so that it is not only the beginning of another one. */
const behind = String.raw`(?![\w/-]|\.\w)`;

/**
 * The instructions with the skill's own paths written out, so that its commands run as they stand, in whatever folder:
 * `python scripts/a.py`, `./references/b.md` and `$SKILL_DIR/c` become paths below `mount`. A path counts when the file
 * exists; a file of the skill's top folder only behind `./`, as a link or as an argument of its interpreter, because its
 * name alone may as well mean a file of the workspace.
 *
 * @example
 * resolveSkillPaths("Run `sh scripts/a.sh`.", { mount: "/skills/tea", resources: ["scripts/a.sh"] });
 * // "Run `sh /skills/tea/scripts/a.sh`."
 */
export function resolveSkillPaths(
  instructions: string,
  { mount, resources }: { mount: string; resources: readonly string[] },
): string {
  const text = instructions.replaceAll(folderVariable, mount);
  const named = resources.filter((path) => text.includes(path));
  if (named.length === 0) return text;
  const within = toPattern(named.filter((path) => path.includes("/")));
  const all = toPattern(named);
  const mention = new RegExp(
    [
      String.raw`${before}(?:\./)?(?<deep>${within})${behind}`,
      String.raw`${before}\./(?<dotted>${all})${behind}`,
      String.raw`(?<=\]\()(?<linked>${all})(?=[)#])`,
      String.raw`(?<=\b(?:bash|node|perl|python3?|ruby|sh)[ \t]+)(?<run>${all})${behind}`,
    ].join("|"),
    "g",
  );
  return text.replaceAll(mention, (...match) => {
    const groups = match.at(-1) as Record<"deep" | "dotted" | "linked" | "run", string | undefined>;
    return `${mount}/${groups.deep ?? groups.dotted ?? groups.linked ?? groups.run}`;
  });
}

/** Any of the paths, the longest that fits; without any of them what matches nothing. */
function toPattern(paths: readonly string[]): string {
  if (paths.length === 0) return "(?!)";
  const longestFirst = paths.toSorted((a, b) => b.length - a.length);
  return longestFirst.map((path) => path.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)).join("|");
}
