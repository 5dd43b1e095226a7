import type { WebClient } from "@slack/web-api";

/** Which workspaces of an organisation (Enterprise Grid) an organisation-wide installation is good for. */
export interface OrganisationTeams {
  /**
   * Ids of the workspaces to which the organisation's administrators have added the app, as Slack tells its token.
   * @param mustHave asked for again if it is missing from a list that is not brand-new: it may just have been added
   */
  teamsOf(organisation: string, client: () => WebClient, mustHave?: string): Promise<ReadonlySet<string>>;
  forget(organisation: string): void;
}

/** A workspace that was taken away must not be served for long. */
const freshMs = 60_000;
/** The method is of Tier 2, some twenty calls a minute: strangers' events must not use them up. */
const newMs = 10_000;
const pageSize = 1_000;
const maxPages = 20;

/** @param now ms since the epoch */
export function createOrganisationTeams(now: () => number = Date.now): OrganisationTeams {
  const known = new Map<string, { since: number; teams: ReadonlySet<string> }>();
  const asking = new Map<string, Promise<ReadonlySet<string>>>();

  const ask = (organisation: string, client: WebClient): Promise<ReadonlySet<string>> => {
    const before = asking.get(organisation);
    if (before) return before;
    const answer = listTeams(client)
      .then((teams) => {
        known.set(organisation, { since: now(), teams });
        return teams;
      })
      .finally(() => asking.delete(organisation));
    asking.set(organisation, answer);
    return answer;
  };

  return {
    async teamsOf(organisation, client, mustHave) {
      const last = known.get(organisation);
      const age = last ? now() - last.since : Number.POSITIVE_INFINITY;
      const isMissing = mustHave !== undefined && !last?.teams.has(mustHave);
      if (last && age < (isMissing ? newMs : freshMs)) return last.teams;
      try {
        return await ask(organisation, client());
      } catch (error) {
        // Slack is not reached, or takes no more of these calls now.
        if (last) return last.teams;
        throw error;
      }
    },
    forget: (organisation) => void known.delete(organisation),
  };
}

/** https://docs.slack.dev/reference/methods/auth.teams.list */
async function listTeams(client: WebClient): Promise<ReadonlySet<string>> {
  const teams = new Set<string>();
  let cursor = {};
  for (let pages = 0; pages < maxPages; pages += 1) {
    const answer = await client.auth.teams.list({ ...cursor, limit: pageSize });
    for (const { id } of answer.teams ?? []) if (id !== undefined) teams.add(id);
    const next = answer.response_metadata?.next_cursor;
    if (!next) break;
    cursor = { cursor: next };
  }
  return teams;
}
