import { posix } from "node:path";
import { workspaceRoot } from "../../../sandbox/sandbox.ts";

/**
 * What the agent knows of the files: the SHA-256 of each one's content when it last read or wrote it. A file that
 * is not as the agent knows it is neither overwritten nor edited.
 *
 * It lives as long as one turn: people change files between turns, so what was read in an earlier turn has to be
 * read again before it is overwritten.
 */
export type FileKnowledge = Map<string, string>;

/** The same for all spellings of a path. */
export function fileKey(path: string): string {
  return posix.resolve(workspaceRoot, path);
}
