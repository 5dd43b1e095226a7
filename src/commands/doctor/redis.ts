import {
  findConfigurationProblems,
  readConfigurations,
} from "../../operations/installation/configurations.ts";
import type { CommandContext } from "../../app/command-context.ts";
import { openRedis } from "../../app/redis.ts";
import type { Finding } from "../../chat/adapter.ts";
import { measureClockAheadMs } from "../../queue/redis/inspect.ts";
import { listUnreadable } from "../../queue/redis/unreadable.ts";
import { type ListSize, readSizes, type StorageSizes } from "../../queue/session/lists/sizes.ts";
import { listAuditProblems } from "../../telemetry/audit/problems.ts";
import { checkClockSkew } from "./clock.ts";
import { redisPatienceMs } from "./check.ts";

/** Whether it can be used, how full it is, and what in it cannot be read. */
export async function checkRedis({ config }: CommandContext): Promise<Finding[]> {
  const server = await openRedis(
    config,
    { info() {}, warn() {} },
    {
      patienceMs: redisPatienceMs,
      adopts: false,
    },
  );
  try {
    const redis = server.connect();
    const warnings = [...server.warnings, ...(await listUnreadable(redis))];
    const auditProblems = await listAuditProblems(redis);
    return [
      { level: "ok", text: server.describe },
      describeSizes(await readSizes(redis)),
      ...auditProblems.map((text): Finding => ({ level: "error", text })),
      ...warnings.map((text): Finding => ({ level: "warning", text })),
      ...findConfigurationProblems(await readConfigurations(redis)).map(
        (text): Finding => ({ level: "warning", text }),
      ),
      ...(config.environment.REDIS_URL
        ? [checkClockSkew("Redis", await measureClockAheadMs(redis, Date.now))].filter(isTrouble)
        : []),
    ];
  } finally {
    await server.close();
  }
}

/** So much of its memory is left for what people write in the next hours. */
const fullShare = 0.8;

/** How full Redis is, and what of it is largest. */
export function describeSizes({ memory, sessions, journals, mailboxes }: StorageSizes): Finding {
  const mebibytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`;
  const limit = memory?.limit === undefined ? "no limit" : `of ${mebibytes(memory.limit)}`;
  const largest = (what: string, [list]: readonly ListSize[]) => {
    if (!list) return [];
    const size = list.bytes === undefined ? "" : `, ${mebibytes(list.bytes)}`;
    return [`largest ${what}: ${list.records} records${size} (${list.thread})`];
  };
  const parts = [
    ...(memory ? [`${mebibytes(memory.used)} used, ${limit}`] : []),
    `${sessions} ${sessions === 1 ? "session" : "sessions"}`,
    ...largest("journal", journals),
    ...largest("mailbox", mailboxes),
  ];
  const isNearlyFull = memory?.limit !== undefined && memory.used > fullShare * memory.limit;
  return isNearlyFull
    ? {
        level: "warning",
        text: `nearly full: ${parts.join("; ")}. Raise maxmemory, or lower sessions.expireDays.`,
      }
    : { level: "ok", text: parts.join("; ") };
}

const isTrouble = ({ level }: Finding) => level !== "ok";
