import { consoleAuthor } from "../adapters/console/conversations/intake.ts";
import { openRedis } from "../app/redis.ts";
import type { Role } from "../chat/roles.ts";
import {
  type AccessToken,
  type AccessTokens,
  createAccessTokens,
} from "../operations/people/access-tokens.ts";
import { openTelemetry, type Telemetry } from "../telemetry/telemetry.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { stripControls } from "./run/terminal-view.ts";

const dayMs = 24 * 60 * 60 * 1000;
const operator = { ...consoleAuthor(), id: "operator" };

/** Makes a token for a person, and prints it this once. */
export async function createToken(
  name: string,
  { role, days, json }: { role: Role; days?: number; json?: true },
): Promise<number> {
  if (!/^[\w.@+-]{1,64}$/.test(name))
    throw new UsageError(`${name}: expected a name of letters, digits and . _ @ + -, e.g. ada.`);
  return await withTokens(async (tokens, audit) => {
    const expiresAt = days === undefined ? {} : { expiresAt: Date.now() + days * dayMs };
    const { token, ...line } = await tokens.create({ name, role, ...expiresAt });
    audit({ action: "token-created", token: line.id, person: name, role, by: operator });
    const note = "This is the only time it is shown: Heddle keeps only a digest of it.";
    return json ? `${JSON.stringify({ ...line, token })}\n` : `${token}\n${describe(line)}\n${note}\n`;
  });
}

/** Lists the tokens of people, without the tokens themselves. */
export async function printTokens({ json }: { json?: true }): Promise<number> {
  return await withTokens(async (tokens) => {
    const lines = await tokens.list();
    if (json) return `${JSON.stringify({ tokens: lines })}\n`;
    const text = lines.map((line) => `${describe(line)}\n`).join("");
    return text === "" ? "Nobody has a token yet; heddle tokens create <name> makes one.\n" : text;
  });
}

/** Ends a token: the next request with it is refused, and its streams close within seconds. */
export async function revokeToken(id: string, { json }: { json?: true }): Promise<number> {
  return await withTokens(async (tokens, audit) => {
    const revoked = await tokens.revoke(id);
    if (!revoked) throw new UsageError(`There is no token ${id}; see heddle tokens list.`);
    const { name: person, role } = revoked;
    audit({ action: "token-revoked", token: id, person, role, by: operator });
    return json
      ? `${JSON.stringify({ id, name: person, revoked: true })}\n`
      : `The token ${id} of ${person} is revoked.\n`;
  });
}

async function withTokens(
  work: (tokens: AccessTokens, audit: Telemetry["audit"]) => Promise<string>,
): Promise<number> {
  const setup = await createCommandContext("warn");
  const server = await openRedis(setup.config, setup.log);
  try {
    const redis = server.connect();
    const telemetry = await openTelemetry({ ...setup, redis, measures: false });
    try {
      process.stdout.write(stripControls(await work(createAccessTokens(redis, Date.now), telemetry.audit)));
      return 0;
    } finally {
      await telemetry.close();
    }
  } finally {
    await server.close();
  }
}

function describe({ id, name, role, createdAt, expiresAt }: AccessToken): string {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  const isOver = expiresAt !== undefined && expiresAt <= Date.now();
  const end =
    expiresAt === undefined ? "never expires" : `${isOver ? "expired" : "expires"} ${day(expiresAt)}`;
  return `${id}  ${role.padEnd(8)}  ${name}  created ${day(createdAt)}, ${end}`;
}
