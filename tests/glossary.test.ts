import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

/**
 * Words of an earlier vocabulary, each with the term that replaced it. What is stored in Redis or told to the outside
 * keeps its name: `enclosure`, `enclosed`, `overheard` and `withdrawn` are records, `verdict` is a label of a metric.
 */
const replaced: readonly [old: RegExp, term: string][] = [
  [/\bDoor\b|\bdoor\b/, "Intake"],
  [/\bVerdict\b/, "IntakeResult, PolicyDecision"],
  [/[fF]oundation\b/, "AppContext"],
  [/\bcreateDrive\b|\bdrive(Session|Turns)\b|\bDriven\b/, "runSession"],
  [/[pP]urses?\b|PaidModel|\b(is)?UsedUp\b/, "TurnBudget, meteredModel, BudgetExhausted"],
  [/\bEnclosures?\b/, "MessageExtras"],
  [/\bReception\b|\bDesk\b|\bdeskOf\b|\bwhisper\b/, "TeamRegistry, TeamConnection, postEphemeral"],
  [/[aA]ttendance\b|\bmissedSince\b/, "Downtime, lastConnectedAt"],
  [/\boverhear\b|\brehear\b/, "storeUnauthorized"],
  [/\bWithdrawals\b|\btoldOf\b|\buntold\b/, "CancelledMessages, markNotified, listUnnotified"],
  [/\bAmendments?\b/, "MessageChange"],
  [/\bOutputScheduler\b/, "RateLimiter"],
  [/\b\w*Deed\b/, "AuditEvent"],
  [/\bWorkerDiary\b|\bThreadBook\b|\bPassing\b/, "WorkerStatus, ThreadIndex, TransientEvent"],
  [/\bWatchedSandbox\b|\bnew Watches\b/, "SandboxHealth, TimelineStreams"],
  [/\b[qQ]uarters\b|\bfurnish\b|\bletIdleGo\b/, "SandboxDeps, initialize, evictIdle"],
  [/\b[cC]ages?\b|\benclose\b/, "ResourceGroup, attach"],
  [/\bkeepWorkspaces\b|\battic\b|\bsetAside\b|\btakenUp\b/, "WorkspaceLifecycle, trash, moveToTrash"],
  [/\bguestOf\w*\b|\bSite\b/, "joinEmbedded, LocalRedisPaths"],
  [/\bbriefLog\b|\buplink\b|\bsignOfLife\b/, "throttledLogger, dialer, heartbeat"],
  [/\bContextKeeper\b|\bgistOf\b|\bfollowTurn\b/, "ContextWindow, primaryArgument, consumeEvents"],
  [/\b[fF]aultPoint\b/, "failpoint"],
  [/\bcheckNames\b|\bstrangeVariables\b/, "validateReferences, unknownVariables"],
  [/[cC]ontestants?\b/, "candidate"],
  [/\bdyeOf\b|--madder|--lichen|--weld/, "colorOf, --danger, --success, --warning"],
];

const root = resolve(import.meta.dirname, "..");
const own = "tests/glossary.test.ts";

const files = execFileSync("git", ["ls-files", "src", "bench", "tests", "scripts"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((path) => /\.(ts|js|lua|css|html)$/.test(path) && path !== own);

test.each(replaced)("%s is not said any more: it is %s", (old) => {
  const uses = files.flatMap((path) =>
    readFileSync(join(root, path), "utf8")
      .split("\n")
      .flatMap((line, index) => (old.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  );
  expect(uses).toEqual([]);
});
