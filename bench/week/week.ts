/** A week of chat in one thread, the same in every run. */

/** One task of the week. */
export interface WeekTurn {
  /** How long nobody wrote before it, in minutes. */
  pauseMinutes: number;
  task: string;
  /** What the model looks at, a call each, before it answers. */
  looks: readonly Look[];
  answer: string;
}

/** A call of the tool `look` and the size of what it finds. */
export interface Look {
  file: string;
  lines: number;
}

const [days, turnsADay] = [5, 10];

/** Chat comes in bursts: most people answer within minutes, some after a meeting, and nobody at night. */
const pauses = [1, 2, 3, 3, 4, 6, 8, 12, 25, 70];
const nightMinutes = 15 * 60;

/** Most of what tools return is short, some of it is not. */
const sizes = [5, 8, 12, 20, 30, 45, 60, 90, 160, 240];

const mostLooks = 6;

export function writeWeek(): WeekTurn[] {
  const pick = createPicker();
  return Array.from({ length: days * turnsADay }, (_, index) => {
    const isMorning = index % turnsADay === 0;
    const looks = Array.from({ length: pick(mostLooks) + 1 }, (_look, number) => ({
      file: `src/part-${index}/file-${number}.ts`,
      lines: sizes[pick(sizes.length)] ?? 5,
    }));
    return {
      pauseMinutes: index === 0 ? 0 : isMorning ? nightMinutes : (pauses[pick(pauses.length)] ?? 1),
      task: `Task ${index + 1}: ${sentence(index, 40)}`,
      looks,
      answer: `Done with task ${index + 1}. ${sentence(index + 7, 90)}`,
    };
  });
}

/** What the tool returns: lines as code has them. */
export function lookAt({ file, lines }: Look): string {
  const line = (number: number) =>
    `${number}: export const value${number} = read("${file}", ${number * 37}); // ${sentence(number, 6)}`;
  return Array.from({ length: lines }, (_, index) => line(index + 1)).join("\n");
}

const words =
  "the build of this service fails since monday because one test waits for a port that another test still holds so please look at the log and tell us which change has moved it before we roll the release back".split(
    " ",
  );

function sentence(from: number, length: number): string {
  return Array.from({ length }, (_, index) => words[(from * 7 + index * 5) % words.length]).join(" ");
}

/** Numbers below a bound, the same ones in every run (a linear congruential generator). */
function createPicker(): (below: number) => number {
  let state = 20_261_125;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}
