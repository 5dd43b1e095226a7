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
  [/\b[cC]ages?\b|\benclose\b/, "ResourceGroup, admit"],
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

/** Sentences that read oddly to newcomers, each with what says the same in idiomatic English. */
const rewritten: readonly [old: string, sentence: string][] = [
  ["what you write meanwhile reaches it", "anything you write in the meantime reaches it"],
  ["that nothing is left alive", "confirms nothing is still running"],
  ["is never run again by itself", "is never retried automatically"],
  ["stays searchable by the agent", "the agent can still search the full history"],
  ["aim of ours is missed", "we miss one of our goals"],
  ["misremembered names", "misspelled environment variables"],
  ["is refused at start with its place", "stops startup with an error that says where"],
  ["takes the same door", "goes through the same checks"],
  ["What it holds to", "Guarantees"],
  ["# When something is wrong", "Troubleshooting"],
  ["# How long it is kept", "Data retention"],
  ["# What this is about", "Threat model"],
  ["holds from the next start on", "takes effect on the next start"],
  ["money runs away", "spending is out of control"],
  ["cannot talk for ever", "cannot loop forever"],
  ["stop nothing and press nothing", "cannot stop turns or press buttons"],
  ["nothing promises that an older Heddle", "downgrades are not supported"],
  ["This file is no text", "Not a text file"],
  ["No thread is like that", "No matching threads"],
  ["Single keys do something", "Enable single-key shortcuts"],
  ['"Look again"', "Refresh"],
  ["As the system", "System"],
  ["what the sessions are, and what was said", "list threads or print a transcript"],
  ["while this host's Heddle serves", "if Heddle is running on this host"],
];

const read = files.filter((path) => /^(README\.md|docs\/|src\/)/.test(path));

test.each(rewritten)("“%s” is not said any more: it is “%s”", (old) => {
  expect(read.filter((path) => readFileSync(join(root, path), "utf8").includes(old))).toEqual([]);
});
