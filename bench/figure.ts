/** Something that is measured: one file in `figures/`. */
export interface Figure {
  /** Names its charts and selects it on the command line. */
  id: string;
  title: string;
  /** What is compared with what, and how, for the reader of the results. */
  method: string;
  measure(effort: Effort): Promise<Findings>;
}

/** How much work to spend: `quick` proves that everything runs, its figures are rough. */
export interface Effort {
  quick: boolean;
  /** The first for a quick run, else the second. */
  pick<T>(quick: T, thorough: T): T;
}

export interface Findings {
  table: Table;
  /** For the summary: what DESIGN promises and what came out. */
  goals?: Goal[];
  charts?: Chart[];
  /** Not a time but a rule; one that does not hold fails the whole run. */
  checks?: Check[];
  /** Parts that could not be measured, and why. */
  missing?: string[];
}

export interface Table {
  columns: readonly string[];
  rows: readonly (readonly string[])[];
}

export interface Goal {
  /** The same from run to run, so that runs can be compared. */
  what: string;
  value: number;
  /** The value as people read it. */
  measured: string;
  aim: string;
  met: boolean;
}

export interface Check {
  rule: string;
  holds: boolean;
  /** What was seen. */
  seen: string;
}

/** `bars`: one number for each name. `lines`: numbers over a common axis, with one line for each name. */
export type Chart =
  | { kind: "bars"; name: string; title: string; unit: string; bars: readonly Bar[] }
  | {
      kind: "lines";
      name: string;
      title: string;
      unit: string;
      axis: string;
      /** Positions on the axis, as they are labelled; evenly spaced. */
      at: readonly string[];
      lines: readonly { name: string; values: readonly number[] }[];
    };

export interface Bar {
  name: string;
  value: number;
  /** Drawn in the colour of our own. */
  ours: boolean;
}

/** A goal that is met below a limit, or also at it; unit "×" is a ratio, and "" a count. */
export function goal(
  what: string,
  value: number,
  unit: "ms" | "MB" | "×" | "",
  limit: { below: number } | { atMost: number },
): Goal {
  const [sign, most] = "below" in limit ? (["<", limit.below] as const) : (["≤", limit.atMost] as const);
  const write = (number: number) =>
    unit === "×" ? ratio(number) : unit === "" ? String(number) : quantity(number, unit);
  return {
    ...{ what, value, measured: write(value) },
    aim: `${sign} ${write(most)}`,
    met: sign === "<" ? value < most : value <= most,
  };
}

/** A number with three significant digits and a unit. */
export function quantity(value: number, unit: string): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toLocaleString("en", { maximumFractionDigits: digits })} ${unit}`;
}

export const ms = (value: number): string => quantity(value, "ms");
export const ratio = (value: number): string => `${value.toFixed(2)}×`;

/** The first line of what went wrong: some errors bring whole transcripts along. */
export function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
}
