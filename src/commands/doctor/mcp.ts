import { packageInfo } from "../../app/process/package-info.ts";
import { takesPersons } from "../../agent/mcp/config.ts";
import { type McpServerStatus, openMcpPool } from "../../agent/mcp/pool.ts";
import type { CommandContext } from "../../app/command-context.ts";
import { openAccounts } from "../../app/mcp/mcp-accounts.ts";
import { findTooSmallModels } from "../../app/turns/offer-size.ts";
import { openRedis } from "../../app/redis.ts";
import { openSandboxBackend } from "../../app/sandbox.ts";
import type { Finding } from "../../chat/adapter.ts";
import { patienceMs, redisPatienceMs } from "./check.ts";
import { listModelLimits } from "./models.ts";
import { loadSkills } from "./skills.ts";

/** @param file where its entry is */
export function describeServer({ server, state, tools, problem }: McpServerStatus, file: string): Finding {
  const isFine = problem === undefined && (state === "ready" || state === "disabled");
  const why = problem ?? (state === "connecting" ? `no answer within ${patienceMs / 1_000} s` : "");
  const words = why.replace(/\.$/, "");
  const said = words && `. ${words.charAt(0).toUpperCase()}${words.slice(1)}`;
  const fix = isFine ? "" : `; correct its entry in ${file}, or disable it`;
  return {
    level: isFine ? "ok" : "warning",
    text: `${server}: ${state}, ${tools.length} tools${said}${fix}`,
  };
}

/** Whether the servers of `mcp.json` can be reached, and whether the models can hold what they offer. */
export async function checkMcp(setup: CommandContext, signal: AbortSignal): Promise<Finding[]> {
  const backend = openSandboxBackend(setup.config);
  const signsIn = setup.mcp.servers.some(
    (server) => server.state === "enabled" && server.endpoint.kind !== "stdio" && server.endpoint.signIn,
  );
  const persons = new Set(
    setup.mcp.servers.flatMap((server) =>
      server.state === "enabled" && takesPersons(server) ? [server.name] : [],
    ),
  );
  const redis = signsIn
    ? await openRedis(setup.config, { info() {}, warn() {} }, { patienceMs: redisPatienceMs, adopts: false })
    : undefined;
  const pool = await openMcpPool({
    config: setup.mcp,
    version: packageInfo.version,
    sandboxes: backend,
    patienceMs,
    ...(redis && { accounts: await openAccounts(setup.config, redis.connect()) }),
    onToken: (token) => setup.masker.add(token),
  });
  try {
    const [offered, { skills }] = await Promise.all([pool.offer(signal), loadSkills(setup)]);
    const large = await findTooSmallModels(listModelLimits(setup.config), {
      instructions: setup.config.settings.agent.instructions,
      skills,
      offered,
    });
    const warnings = large.map((text): Finding => ({ level: "warning", text }));
    const servers = pool.status();
    if (servers.length === 0)
      return [{ level: "note", text: "no servers: mcp.json would name them" }, ...warnings];
    const findings = servers.map((status) =>
      persons.has(status.server)
        ? { level: "ok" as const, text: `${status.server}: each person connects an account of their own` }
        : describeServer(status, setup.config.settings.mcp.config),
    );
    return [...findings, ...warnings];
  } finally {
    await pool.close();
    await backend.close();
    await redis?.close();
  }
}
