import type { RepositoryAccess } from "../../contracts/repositories.ts";
import type { Tool } from "../tool.ts";
import { createOpenPullRequest } from "./open-pull-request.ts";
import { createOpenRepository } from "./open-repository.ts";

/** The tools of a channel that has repositories. They need a sandbox. */
export function createRepositoryTools(access: RepositoryAccess): Tool[] {
  return [createOpenRepository(access), createOpenPullRequest(access)];
}
