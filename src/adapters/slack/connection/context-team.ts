import { z } from "zod";

const teamSchema = z.string().startsWith("T");
const team = teamSchema.optional().catch(undefined);

const envelopeSchema = z.object({
  team_id: team,
  context_team_id: team,
  is_enterprise_install: z.union([z.boolean(), z.literal("true").transform(() => true)]).catch(false),
  authorizations: z.array(z.object({ is_enterprise_install: z.boolean().nullish() })).catch([]),
  view: z.object({ app_installed_team_id: team }).optional().catch(undefined),
  team: z.object({ id: team }).nullish().catch(undefined),
  user: z.object({ team_id: team }).optional().catch(undefined),
});

/**
 * The workspace that something belongs to which Slack tells an organisation-wide installation of; undefined for all other
 * installations, of which Bolt knows. There `authorizations` names one workspace of the organisation, whichever, and the
 * `team` of an interaction is null; an event's `context_team_id` is the one where it happened.
 * https://docs.slack.dev/apis/events-api/#authorizations
 */
export function readContextTeam(body: unknown): string | undefined {
  const { data } = envelopeSchema.safeParse(body);
  const isOrganisations = data?.is_enterprise_install || data?.authorizations[0]?.is_enterprise_install;
  if (!data || !isOrganisations) return undefined;
  return (
    data.context_team_id ??
    data.team_id ??
    data.view?.app_installed_team_id ??
    data.team?.id ??
    data.user?.team_id
  );
}
