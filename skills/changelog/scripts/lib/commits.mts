export interface Commit {
  id: string;
  author: string;
  /** As in 2026-11-01. */
  date: string;
  subject: string;
  body: string;
  /** The paths that it touches. */
  files: string[];
  /** The subject without its type and pull request. */
  title: string;
  /** As in Conventional Commits. */
  type?: string;
  scope?: string;
  isBreaking: boolean;
  /** What breaks, where the body says so. */
  notice?: string;
  /** The number of its pull request. */
  pull?: string;
}

/** The fields of a commit as git shall print them, for {@link parseCommits}; the paths stand behind them. */
export const commitFormat = `%x1e${["%h", "%aN", "%cs", "%s", "%b"].join("%x1f")}%x1f`;

export function parseCommits(log: string): Commit[] {
  return log.split("\x1E").flatMap((record) => {
    const [id, author, date, subject, ...rest] = record.trimStart().split("\x1F");
    if (id === undefined || author === undefined || date === undefined || subject === undefined) return [];
    const files = rest.pop()?.split("\n").filter(Boolean) ?? [];
    return [parseCommit({ id, author, date, subject, body: rest.join("\x1F"), files })];
  });
}

function parseCommit(raw: Pick<Commit, "id" | "author" | "date" | "subject" | "body" | "files">): Commit {
  const { subject, body } = raw;
  const pull =
    /\(#(\d+)\)\s*$/.exec(subject)?.[1] ??
    /^(?:PR|Pull-Request|See-merge-request):?\s*\S*[#!](\d+)\s*$/im.exec(body)?.[1];
  const plain = subject.replace(/\s*\(#\d+\)\s*$/, "");
  const [, type, scope, mark, title = plain] = /^([a-z]+)(?:\(([^)]*)\))?(!)?:\s+(.+)$/is.exec(plain) ?? [];
  const notice = /^BREAKING[ -]CHANGE:\s*(.+?)(?:\n\s*\n|(?![^]))/ms.exec(body)?.[1];
  return {
    ...raw,
    title,
    isBreaking: mark !== undefined || notice !== undefined,
    ...(pull !== undefined && { pull }),
    ...(type !== undefined && { type: type.toLowerCase() }),
    ...(scope !== undefined && { scope }),
    ...(notice !== undefined && { notice: notice.trim().replaceAll(/\s+/g, " ") }),
  };
}

/** A commit and its revert cancel out. The newest comes first. */
export function takeOutReverts(commits: readonly Commit[]): { left: Commit[]; reverted: string[] } {
  const gone = new Set<Commit>();
  const reverted: string[] = [];
  for (const revert of commits) {
    if (gone.has(revert)) continue;
    const id = /This reverts commit ([0-9a-f]{7,40})/.exec(revert.body)?.[1];
    const subject = /^Revert "(.+)"/s.exec(revert.subject)?.[1];
    if (id === undefined && subject === undefined) continue;
    const original = commits.find((commit) => {
      if (commit === revert || gone.has(commit)) return false;
      return id === undefined ? commit.subject === subject : id.startsWith(commit.id);
    });
    if (!original) continue;
    gone.add(revert).add(original);
    reverted.push(`${original.title} (${original.id}, reverted by ${revert.id})`);
  }
  return { left: commits.filter((commit) => !gone.has(commit)), reverted };
}
