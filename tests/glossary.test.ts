import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

/**
 * Words of an earlier vocabulary, each with the term that replaced it. What is stored in Redis or told to the outside
 * keeps its name: `enclosure`, `enclosed`, `overheard` and `withdrawn` are records, `verdict` is a label of a metric.
 */
const replaced: readonly [old: RegExp, term: string][] = [
  [/\bDoor\b|\bdoors?\b/, "Intake"],
  [/\bVerdicts?\b/, "IntakeResult, PolicyDecision"],
  [/[fF]oundation\b|\bGround\b|--ground\b/, "AppContext, --background"],
  [/\bcreateDrive\b|\bdrive(Session|Turns)\b|\bDriven\b|\bdrives? (a|the) (thread|turn)\b/, "runSession"],
  [/[pP]urses?\b|PaidModel|\b(is)?UsedUp\b/, "TurnBudget, createMeteredModel, BudgetExhausted"],
  [/\bEnclosures?\b/, "MessageExtras"],
  [/\bReception\b|\bDesks?\b|\bdeskOf\b|\bwhispers?\b/, "TeamRegistry, TeamConnection, postEphemeral"],
  [/\bSpots?\b|\bPress\b(?! )|\bTickets?\b/, "MessageLocation, componentInteraction, InteractionToken"],
  [/\bchooseWorkspaces\b/, "resolveWorkspaces"],
  [/\bGate\b|\bstranger\(/, "AuthGuard, checkOrigin"],
  [/[aA]ttendance\b|\bmissedSince\b|\battends?\b/, "Downtime, lastConnectedAt, catchUp"],
  [/\bcreateWords\b|\b[sS]top-words?\b|\b[sS]tatus-words?\b/, "text commands"],
  [/\boverhear\b|\brehear\b/, "storeUnauthorized"],
  [/\bWithdrawals\b|\btoldOf\b|\buntold\b/, "CancelledMessages, markNotified, listUnnotified"],
  [/\bAmendments?\b/, "MessageChange"],
  [/\bOutputScheduler\b|\bpermit\.lua\b/, "RateLimiter, acquire-write.lua"],
  [/\bawaitRest\b|\brestSince\b|\brest\.lua\b/, "pendingEdits, nextWakeAt, unlist.lua"],
  [/\bheard\(|\b\w*Deed\b/, "recordNames, AuditEvent"],
  [/\bWorkerDiary\b|\bThreadBook\b|\bPassing\b|\bnoting\(/, "WorkerStatus, ThreadIndex, TransientEvent"],
  [/\bWatchedSandbox\b|\bnew Watches\b/, "SandboxHealth, TimelineStreams"],
  [/\bannouncing\(/, "withSessionNotifications"],
  [
    /\b[qQ]uarters\b|\bfurnish\b|\bMachine\b(?! )|\bletIdleGo\b/,
    "SandboxDeps, initialize, HostRuntime, evictIdle",
  ],
  [/\b[cC]ages?\b|\benclose\b/, "ResourceGroup, attach"],
  [
    /\w*Keeper\b|\bkeepWorkspaces\b|\battic\b|\bsetAside\b|\btakenUp\b/,
    "WorkspaceLifecycle, ContextWindow, trash",
  ],
  [/\balone\(/, "withFileLock"],
  [/\bguestOf\w*\b|\bSite\b(?! )|\bladder\b|\brungs?\b/, "joinEmbedded, LocalRedisPaths, strategy"],
  [/\bbriefLog\b|\buplink\b|\bsignOfLife\b/, "createThrottledLogger, dialer, heartbeat"],
  [/\bforgives\b|\burge\b|\bbulky\b|\bspared\b/, "recoverable, ensureTrailingUserMessage, largeResults"],
  [/\bgistOf\b|\bfollowTurn\b/, "primaryArgument, consumeEvents"],
  [/\b[fF]aultPoint\b/, "failpoint"],
  [/\bcheckNames\b|\bstrangeVariables\b/, "validateReferences, listUnknownVariables"],
  [/[cC]ontestants?\b/, "candidate"],
  [/\bdyeOf\b|--(madder|lichen|weld|cloth|ink|indigo)\b/, "colorOf, --danger, --surface, --accent"],
  [/\b(open|set)Stage\b|\bStage\b(?! )|\bdoomed\w*\b/, "names that say what a harness sets up"],
];

const root = resolve(import.meta.dirname, "..");
/** This file itself, and texts that quote other people's. */
const exempt = new Set(["tests/glossary.test.ts", "CHANGELOG.md"]);

const files = execFileSync(
  "git",
  ["ls-files", "src", "bench", "tests", "scripts", "eval", "skills", "docs", "deploy", "examples", "*.md"],
  {
    cwd: root,
    encoding: "utf8",
  },
)
  .split("\n")
  .filter((path) => /\.(m?ts|js|lua|css|html|md|ya?ml)$/.test(path) && !exempt.has(path));

test.each(replaced)("%s is not said any more: it is %s", (old) => {
  const uses = files.flatMap((path) =>
    readFileSync(join(root, path), "utf8")
      .split("\n")
      .flatMap((line, index) => (old.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  );
  expect(uses).toEqual([]);
});
