import { posix } from "node:path";
import { workspaceRoot } from "../sandbox/sandbox.ts";
import type { ToolMessage, UserMessage } from "./messages.ts";
import { compileGlob } from "./policy/command-pattern.ts";
import type { Policy } from "./policy/policy.ts";

/**
 * Plan first: until people have approved its plan, a turn changes nothing. That does not rest on the model's word: the
 * policy denies every tool that does more than read, and commands run with the workspace read-only and without network.
 */
export interface Planning {
  /** Whether a plan is still to be approved. */
  isOn(): boolean;
  /** People have approved the plan for all that was asked so far. */
  approve(files: readonly string[]): void;
}

export const proposePlanName = "propose_plan";

/** Begins the result of an approved plan: a journal tells by it that the turn may work. */
export const approvedMark = "APPROVED by ";

/** Whether this result says that people have approved a plan. */
export function isApprovedPlan({ name, status, text }: ToolMessage): boolean {
  return name === proposePlanName && status === "ok" && text.startsWith(approvedMark);
}

/** The files that a plan names, by the arguments of the call that has put it to people. */
export function listPlannedFiles(input: unknown): string[] {
  const files = typeof input === "object" && input !== null && "files" in input ? input.files : [];
  return Array.isArray(files) ? files.filter((file) => typeof file === "string") : [];
}

export interface PlanningOptions {
  /** The people's messages of the turn; grows while it runs. */
  asked: readonly UserMessage[];
  /** For how many of them, the first ones, a plan was approved before. */
  plannedFor: number;
  /** Whether the turn is planned although no message says so. */
  always: boolean;
  /** Takes the files that an approved plan names. */
  onApproved(files: readonly string[]): void;
}

export function createPlanning({ asked, plannedFor, always, onApproved }: PlanningOptions): Planning {
  let approvedFor = plannedFor;
  return {
    isOn() {
      const wanted = asked.findLastIndex(({ plan }) => plan) + 1;
      return Math.max(wanted, always ? 1 : 0) > approvedFor;
    },
    approve(files) {
      approvedFor = asked.length;
      onApproved(files);
    },
  };
}

/** Beside what declares that it reads: commands, which are kept from writing, the web's pages, helpers, and the own list. */
const usable: ReadonlySet<string> = new Set(["bash", "web_fetch", "web_search", "task", "todo"]);

const planFirst =
  "a plan comes first. Look around with tools that only read (bash runs too: the workspace is read-only for it, and it has no network), then put your plan to people with propose_plan.";

/**
 * The policy while a plan is still to be approved: the operator's, but nothing that changes, sends or starts something.
 *
 * @param hasReadOnly whether commands can be kept from writing here
 */
export function limitToPlanning(
  policy: Policy,
  planning: Pick<Planning, "isOn">,
  hasReadOnly: boolean,
): Policy {
  return (tool, input) => {
    if (!planning.isOn()) return policy(tool, input);
    const isCommand = tool.name === "bash";
    const mayRun = tool.effect === "read" || usable.has(tool.name);
    if (!mayRun || (isCommand && (!hasReadOnly || isBackground(input))))
      return { action: "deny", why: planFirst };
    return policy(tool, input);
  };
}

function isBackground(input: unknown): boolean {
  return (
    typeof input === "object" &&
    input !== null &&
    "run_in_background" in input &&
    input.run_in_background === true
  );
}

/** What was done to files that the plan does not name; `*` in a name stands for any text, a folder for all that is in it. */
export function listUnplanned(planned: readonly string[], touched: readonly string[]): string[] {
  const known = planned
    .map((name) => posix.relative(workspaceRoot, posix.resolve(workspaceRoot, name.trim())))
    .flatMap((name) => (name === "" ? ["*"] : [name, `${name}/*`]))
    .map(compileGlob);
  return touched.filter((path) => !known.some((matches) => matches(path)));
}
