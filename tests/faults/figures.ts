import { appendFileSync } from "node:fs";

/** What the suite measured, as JSON lines in the file that `scripts/test-faults.js` names; without one it is not kept. */
export interface Figures {
  /** A process that was killed at a point, and the time until all was quiet again, its successor's start included. */
  kill: { point: string; ms: number };
  /** From SIGTERM to a worker in the middle of a command until it was gone, and until the next one's ran. */
  handover: { ms: number; resumedMs: number };
  /** Kills of a program with the embedded server; `twice`: lines that a tool call wrote more than once. */
  embedded: { cycles: number; sent: number; answered: number; marks: number; twice: number };
  /** What was written to the embedded server alone, MB, and by how much its resident memory grew. */
  "embedded-server": { turns: number; storedMB: number; grown: number };
  /** Resident memory of such a program, MB, and by how much the turns made it grow. */
  "embedded-memory": { turns: number; before: number; grown: number };
  /** One delivery, sent so often at two processes, and the turns that it began. */
  webhooks: { sent: number; turns: number };
  /** A gateway that was killed at a point of a webhook's way, and how often it was sent until it was taken. */
  "webhook-kill": { point: string; sends: number };
  /** A run under random faults. */
  storm: Record<string, number>;
}

export function note<Kind extends keyof Figures>(kind: Kind, figures: Figures[Kind]): void {
  const file = process.env["HEDDLE_FAULT_FIGURES"];
  if (file) appendFileSync(file, `${JSON.stringify({ kind, ...figures })}\n`);
}
