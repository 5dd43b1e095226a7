import { z } from "zod";
import { consoleRole } from "./console.ts";
import { count } from "./values.ts";

const example = 'e.g. "U012345" (Slack) or "80351110224678912" (Discord)';

/** YAML reads a Discord id without quotes as a number, and rounds it. */
const listOf = (form: RegExp, expected: string) =>
  z
    .array(z.string(`expected an id in quotes, ${example}`).regex(form, `expected ${expected}, ${example}`))
    .default([]);

const ids = listOf(/^[A-Za-z0-9]+$/, "an id");

/** A bare id stands for that person in every workspace. */
const people = listOf(
  /^(?:[A-Za-z0-9]+:)?[A-Za-z0-9]+$/,
  "an id, or a workspace and an id (T012345:U012345)",
);

const who = z.enum(["everyone", "requester", "administrators"]);

/** What the operator should know as long as nobody on Discord is listed. */
export function findClosedDiscord({
  administrators,
  discord,
}: z.infer<typeof accessSchema>): string | undefined {
  const { guilds, roles, users } = discord;
  if ([administrators, guilds, roles, users].some((listed) => listed.length > 0)) return undefined;
  return "Nobody on Discord may give work: list servers, roles or people under access.discord in heddle.yaml.";
}

/** Who may do what. `src/intake/access.ts` is the table that reads it. */
export const accessSchema = z
  .strictObject({
    administrators: people.describe(
      "people who may do whatever others may, and extend budgets; the console's user is always one. T012345:U012345: only in that workspace, whose budgets they may extend",
    ),
    denied: people.describe(
      "people who may do nothing, whatever else allows them; nobody can change that in chat",
    ),
    slack: z
      .strictObject({
        allow: z
          .array(z.enum(["members", "guests", "externals"]))
          .default(["members"])
          .describe(
            "whose messages count in channels where the bot is; externals are of other organisations",
          ),
        users: people.describe("these people as well, whatever they are"),
      })
      .prefault({}),
    discord: z
      .strictObject({
        guilds: ids.describe("every member of these servers"),
        roles: ids.describe("whoever has one of these roles"),
        users: people.describe("these people, also in direct messages (dm:80351110224678912: only there)"),
      })
      .prefault({})
      .describe("nobody until something is listed"),
    bots: people.describe(
      "bots that may give work, by their user ids (on Slack U…, not B…); others are ignored",
    ),
    botMessages: count(1, 100)
      .default(3)
      .describe("messages of bots that a thread accepts in a row, without one from a person"),
    stop: who.default("everyone").describe("who may stop a turn, of those who may write"),
    approve: who.default("requester").describe("who may approve what a turn asks for"),
    continue: who.default("everyone").describe("who may continue a turn that a limit has ended"),
    directMessages: z
      .array(consoleRole)
      .default([])
      .describe(
        "roles at the console that may read direct messages of others on Slack and Discord, e.g. [operator]; the audit log names who did",
      ),
  })
  .prefault({});
